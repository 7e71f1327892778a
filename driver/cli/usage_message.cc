#include "driver/cli/usage_message.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <regex>
#include <sstream>
#include <vector>

#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::cli {
namespace {

std::string verbs_of(const CLI::App& app) {
  std::string text;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    text += (text.empty() ? "" : ", ") + verb->get_name();
  return text;
}

// The verb that was given, down to the deepest one that exists.
const CLI::App* deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::string path_of(const CLI::App* app) {
  std::string text = app->get_name();
  for (const CLI::App* above = app->get_parent(); above; above = above->get_parent())
    text = above->get_name() + " " + text;
  return text;
}

std::string spaced(const std::string& list) {
  return std::regex_replace(list, std::regex(","), ", ");
}

// Of the words that were not expected: the first option, which is what was meant to be understood;
// else the last, as CLI11 lists them backwards.
std::string unexpected(const std::string& words) {
  std::istringstream stream(words);
  std::string last;
  for (std::string word; stream >> word; last = word)
    if (word.starts_with("-")) return word;
  return last;
}

std::vector<std::string> flags_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> listed_words(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

bool is_flag(const CLI::App* at, const std::string& name) {
  const CLI::Option* option = at->get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() == 0;
}

// " (a file of Program text)": what the help says of an option.
std::string description_of(const CLI::App* at, const std::string& name) {
  const CLI::Option* option = at->get_option_no_throw(name);
  return option == nullptr || option->get_description().empty()
             ? ""
             : " (" + option->get_description() + ")";
}

// "-t 2": by custom the number of threads, else what begins with this letter.
std::string near_letter(const CLI::App* at, const std::string& word) {
  const std::vector<std::string> flags = flags_of(at);
  const char letter = word[1];
  std::vector<std::string> near;
  if (letter == 'j') near = {"--jobs", "--threads"};
  if (letter == 't') near = {"--threads"};
  std::erase_if(
      near, [&](const std::string& flag) { return std::ranges::find(flags, flag) == flags.end(); });
  if (near.empty())
    for (const std::string& flag : flags)
      if (flag[2] == letter) near.push_back(flag);
  if (near.empty()) return "";
  return ", did you mean " +
         (near.size() > 1 ? "one of " + join_words(near) : "'" + near[0] + "'") + "?";
}

// What other compilers call it: -O2, and an output without -o. A word may be a flag without its
// dashes.
std::string not_taken(const CLI::App* at, const std::string& word, const std::string& more) {
  const std::string name = word.substr(0, word.find('='));
  std::string near;
  if (name.starts_with("--"))
    near = did_you_mean(name, flags_of(at));
  else if (name.size() > 1 && name.starts_with("-"))
    near = near_letter(at, name);
  else
    near = did_you_mean("--" + name, flags_of(at));
  if (std::regex_match(word, std::regex("-O[0-3]")))
    near = ", did you mean '--opt-level " + word.substr(2) + "'?";
  if (!word.starts_with("-") && word.ends_with(".polyte") &&
      at->get_option_no_throw("-o") != nullptr)
    near = ", did you mean '-o " + word + "'?";
  return path_of(at) + " takes no '" + word + "'" + (near.empty() ? more : near);
}

}  // namespace

std::string unknown_verb_message(const CLI::App& at, const std::string& word) {
  const std::vector<std::string> names = names_of(at);
  if (names.empty())
    return path_of(&at) + ": got '" + word +
           "', expected nothing more: there are no verbs below it";
  std::string near = did_you_mean(word, names);
  if (near.empty()) near = did_you_mean("--" + word, flags_of(&at));
  if (word == "-v" || word == "-V") near = ", did you mean '--version'?";
  return path_of(&at) + ": got '" + word + "', expected one of " + verbs_of(at) + near;
}

// The texts of CLI11 that are recognised here are those of the version that we build with; what is
// none of them stays as CLI11 says it.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = deepest(app);
  const std::string text = error.what(), more = "; " + path_of(at) + " --help has an example";
  std::smatch found;
  if (text == "A subcommand is required") {
    const std::vector<std::string> rest = at->remaining();
    return rest.empty() ? path_of(at) + ": got none, expected one of " + verbs_of(*at)
                        : unknown_verb_message(*at, rest.front());
  }
  if (std::regex_match(text, found, std::regex("(.*): (.*) not in \\{(.*)\\}")))
    return found[1].str() + " is '" + found[2].str() + "', expected one of " +
           spaced(found[3].str()) + did_you_mean(found[2].str(), listed_words(found[3].str()));
  if (std::regex_match(text, found, std::regex("(.*): Value (.*) not in range (.*) to (.*)")))
    return found[1].str() + " is '" + found[2].str() + "', expected a whole number from " +
           found[3].str() + " to " + found[4].str();
  if (std::regex_match(text, found, std::regex("Could not convert: (.*) = (.*)")))
    return found[1].str() + " is '" + found[2].str() + "', expected " +
           (is_flag(at, found[1].str()) ? "no value: give " + found[1].str() + " alone"
                                        : "a number");
  if (std::regex_match(text, found, std::regex("(.*) is required")))
    return path_of(at) + ": " + found[1].str() + " is required" +
           description_of(at, found[1].str()) + more;
  if (std::regex_match(text, found,
                       std::regex("The following arguments? (was|were) not expected: (.*)")))
    return not_taken(at, unexpected(found[2].str()), more);
  std::string own = text;
  if (!own.empty()) own[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(own[0])));
  if (!own.empty() && own.back() == '.') own.pop_back();
  return path_of(at) + ": " + own + more;
}

}  // namespace polyte::cli
