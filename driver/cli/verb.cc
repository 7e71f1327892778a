#include "driver/cli/verb.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>
#include <string_view>

#include "driver/cli/completion.h"
#include "driver/cli/usage_message.h"
#include "support/error.h"

namespace polyte::cli {

const Option& Option::required() const {
  option_->required();
  return *this;
}

// CLI11 reads the value when this is called: defaults have to be set before.
const Option& Option::shows_default() const {
  option_->capture_default_str();
  return *this;
}

const Option& Option::separated() const {
  option_->delimiter(',');
  return *this;
}

// Without it CLI11 takes all words that follow as further values, and a positional argument
// behind the option is lost.
const Option& Option::one_at_a_time() const {
  option_->allow_extra_args(false);
  return *this;
}

const Option& Option::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

const Option& Option::within(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

const Option& Option::description(const std::string& text) const {
  option_->description(text);
  return *this;
}

Verb Verb::verb(const std::string& name, const std::string& what) const {
  return {*app_->add_subcommand(name, what), *status_};
}

// CLI11 lists no subcommand of the unnamed group.
void Verb::hide() const { app_->group(""); }

void Verb::needs_verb() const { app_->require_subcommand(1); }

Option Verb::option(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, std::vector<std::string>& value,
                    const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, int& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, std::uint64_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, std::int64_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, double& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

void Verb::flag(const std::string& name, bool& value, const std::string& help) const {
  app_->add_flag(name, value, help);
}

Option Verb::existing(const std::string& name) const { return Option(app_->get_option(name)); }

void Verb::remove(const std::string& name) const { app_->remove_option(app_->get_option(name)); }

void Verb::example(const std::string& command) const { app_->footer("example: " + command); }

bool Verb::is_given(const std::string& name) const { return app_->count(name) > 0; }

// The status goes through a pointer: CLI11's callbacks return nothing.
void Verb::calls(const std::function<int()>& run) const {
  app_->callback([status = status_, run] { *status = run(); });
}

namespace {

// Of "TEXT:{naive,isl,poly,template}", which the help shows: the values that one_of was given.
std::vector<std::string> values_of(const std::string& type) {
  std::vector<std::string> values;
  const std::size_t from = type.find('{'), to = type.find('}');
  if (from == std::string::npos || to == std::string::npos) return values;
  std::istringstream stream(type.substr(from + 1, to - from - 1));
  for (std::string value; std::getline(stream, value, ',');) values.push_back(value);
  return values;
}

// Positionals have one name, options all of theirs ("-o,--output").
Verb::Switch switch_of(const CLI::App& app, const CLI::Option& option) {
  const bool positional = option.get_positional();
  Verb::Switch result;
  result.verb = app.get_name();
  result.names = positional ? option.get_name(true) : option.get_name(false, true);
  result.help = option.get_description();
  const std::string type = option.get_type_name();
  result.takes_value = option.get_items_expected_max() > 0 && option.get_type_size_max() > 0;
  result.takes_number =
      type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
  result.values = values_of(type);
  result.separated = option.get_delimiter() == ',';
  return result;
}

}  // namespace

// All levels, "lab run" too, for completion and for the list of options.
std::vector<Verb::Switch> Verb::switches() const {
  std::vector<Switch> result;
  for (CLI::App* app : app_->get_subcommands([](const CLI::App*) { return true; })) {
    if (app->get_group().empty()) continue;  // hidden
    for (const CLI::Option* option : app->get_options()) result.push_back(switch_of(*app, *option));
    for (Switch below : Verb(*app, *status_).switches()) {  // lab run
      below.verb = app->get_name() + " " + below.verb;
      result.push_back(std::move(below));
    }
  }
  return result;
}

std::vector<Verb::Word> Verb::verbs() const {
  std::vector<Word> result;
  for (CLI::App* app : app_->get_subcommands([](const CLI::App*) { return true; })) {
    if (app->get_group().empty()) continue;  // hidden
    result.push_back({app->get_name(), app->get_description()});
    for (const Word& below : Verb(*app, *status_).verbs())
      result.push_back({app->get_name() + " " + below.text, below.help});
  }
  return result;
}

// Words are followed downwards one by one; the title is then put together upwards.
std::string Verb::help_of(const std::vector<std::string>& words) const {
  const CLI::App* at = app_;
  for (const std::string& word : words) {
    const auto all =
        at->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (all.empty()) throw UserError(ExitStatus::Usage, unknown_verb_message(*at, word));
    at = all.front();
  }
  std::string name;  // with those of the verbs above: "polyte lab run"
  for (const CLI::App* each = at; each != nullptr; each = each->get_parent())
    name = each->get_name() + (name.empty() ? "" : " ") + name;
  return at->get_formatter()->make_help(at, name, CLI::AppFormatMode::Normal);
}

// Verbs throw their errors through parse(), which calls them: main() turns them into statuses.
int run_command_line(int argc, char** argv, const std::vector<AddVerb>& verbs) {
  CLI::App app("Polyte: a tensor compiler with two schedulers and one schedule language", "polyte");
  app.set_version_flag("--version", "polyte 0.1.0");
  int status = 0;
  const Verb top(app, status);
  top.needs_verb();
  for (AddVerb add : verbs) add(top);
  // Words of a line that is not finished: not parsed.
  if (argc > 1 && std::string_view(argv[1]) == kCompletionWords)
    return complete_words(top, {argv + 2, argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << usage_message(app, e) << "\n";
    return static_cast<int>(ExitStatus::Usage);
  }
  return status;
}

}  // namespace polyte::cli
