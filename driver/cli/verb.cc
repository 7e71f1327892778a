#include "driver/cli/verb.h"

#include <CLI/CLI.hpp>

#include <iostream>

#include "driver/cli/usage_message.h"
#include "support/error.h"

namespace polyte::cli {

const Option& Option::required() const {
  option_->required();
  return *this;
}

const Option& Option::shows_default() const {
  option_->capture_default_str();
  return *this;
}

const Option& Option::separated() const {
  option_->delimiter(',');
  return *this;
}

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

void Verb::hide() const { app_->group(""); }

void Verb::needs_verb() const { app_->require_subcommand(1); }

Option Verb::option(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, std::vector<std::string>& value, const std::string& help) const {
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

void Verb::example(const std::string& command) const { app_->footer("example: " + command); }

bool Verb::is_given(const std::string& name) const { return app_->count(name) > 0; }

void Verb::calls(const std::function<int()>& run) const {
  app_->callback([status = status_, run] { *status = run(); });
}

std::vector<Verb::Switch> Verb::switches() const {
  std::vector<Switch> result;
  for (CLI::App* app : app_->get_subcommands([](const CLI::App*) { return true; })) {
    if (app->get_group().empty()) continue;  // hidden
    for (const CLI::Option* option : app->get_options()) {
      const bool positional = option->get_positional();
      const std::string names = positional ? option->get_name(true) : option->get_name(false, true);
      result.push_back({app->get_name(), names, option->get_description()});
    }
    for (Switch below : Verb(*app, *status_).switches()) {  // lab run
      below.verb = app->get_name() + " " + below.verb;
      result.push_back(std::move(below));
    }
  }
  return result;
}

int run_command_line(int argc, char** argv, const std::vector<AddVerb>& verbs) {
  CLI::App app("Polyte: a tensor compiler with two schedulers and one schedule language", "polyte");
  app.set_version_flag("--version", "polyte 0.1.0");
  int status = 0;
  const Verb top(app, status);
  top.needs_verb();
  for (AddVerb add : verbs) add(top);
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
