// A wrong command line in our words: CLI11's exceptions name the fault, this says it as STYLE
// has errors.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it so
class App;
class ParseError;
}  // namespace CLI

namespace polyte::cli {

// What was wrong with the command line, in one line.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

// Where `word` is no verb below `at`.
std::string unknown_verb_message(const CLI::App& at, const std::string& word);

}  // namespace polyte::cli
