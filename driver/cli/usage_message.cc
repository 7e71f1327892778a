#include "driver/cli/usage_message.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <numeric>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

namespace polyte::cli {
namespace {

std::string verbs_of(const CLI::App& app) {
  std::string text;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
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

std::string spaced(const std::string& list) { return std::regex_replace(list, std::regex(","), ", "); }

// Of the words that were not expected: the first option, which is what was meant to be understood; else the last, as
// CLI11 lists them backwards.
std::string unexpected(const std::string& words) {
  std::istringstream stream(words);
  std::string last;
  for (std::string word; stream >> word; last = word)
    if (word.starts_with("-")) return word;
  return last;
}

// Insertions, deletions and changes that turn one word into the other.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// ", did you mean '--json'?" where one of the words is near.
std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& one : words)
    if (const std::size_t d = edit_distance(word, one); d < least) least = d, best = one;
  return best.empty() ? "" : ", did you mean '" + best + "'?";
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

std::string not_taken(const CLI::App* at, const std::string& word, const std::string& more) {
  const std::string name = word.substr(0, word.find('='));
  const std::string near = name.starts_with("--") ? nearest(name, flags_of(at)) : "";
  return path_of(at) + " takes no '" + word + "'" + (near.empty() ? more : near);
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = deepest(app);
  const std::string text = error.what(), more = "; " + path_of(at) + " --help has an example";
  std::smatch found;
  if (text == "A subcommand is required") {
    const std::vector<std::string> rest = at->remaining();
    const std::string got = rest.empty() ? "none" : "'" + rest.front() + "'";
    const std::string near = rest.empty() ? "" : nearest(rest.front(), names_of(*at));
    return path_of(at) + ": got " + got + ", expected one of " + verbs_of(*at) + near;
  }
  if (std::regex_match(text, found, std::regex("(.*): (.*) not in \\{(.*)\\}")))
    return found[1].str() + " is '" + found[2].str() + "', expected one of " + spaced(found[3].str());
  if (std::regex_match(text, found, std::regex("(.*): Value (.*) not in range (.*) to (.*)")))
    return found[1].str() + " is " + found[2].str() + ", expected " + found[3].str() + " to " + found[4].str();
  if (std::regex_match(text, found, std::regex("The following arguments? (was|were) not expected: (.*)")))
    return not_taken(at, unexpected(found[2].str()), more);
  std::string own = text;
  if (!own.empty()) own[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(own[0])));
  if (!own.empty() && own.back() == '.') own.pop_back();
  return path_of(at) + ": " + own + more;
}

}  // namespace polyte::cli
