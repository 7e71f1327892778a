// Verb and Option: the part of CLI11 that our verbs use, in plain overloads. Its templates cost
// several seconds in every file that instantiates them; here they do so once, in verb.cc, and no
// other verb file includes its header.
//
//   Verb verb = app.verb("run", "execute an artifact");
//   verb.option("model", options->model, "an artifact or an ONNX file").required();
//   verb.option("--threads", options->threads, "worker threads").within(0, 1024).shows_default();
//   verb.calls([options] { return run_run(*options); });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it so
class App;
class Option;
}  // namespace CLI

namespace polyte::cli {

// An option of a verb; a handle, valid as long as the application.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  const Option& required() const;
  const Option& shows_default() const;  // in the help, the value at this moment
  const Option& separated() const;      // commas separate several values
  const Option& one_at_a_time() const;  // each value has its own --option
  const Option& one_of(const std::vector<std::string>& values) const;
  const Option& within(int least, int most) const;  // both count
  const Option& description(const std::string& text) const;

 private:
  CLI::Option* option_;
};

// A verb, or the application itself; a handle. What an option writes to must outlive the parse.
class Verb {
 public:
  // `status` is what the process returns when no verb throws.
  Verb(CLI::App& app, int& status) : app_(&app), status_(&status) {}
  Verb verb(const std::string& name, const std::string& what) const;  // below this one
  // From the help: it is for ourselves.
  void hide() const;
  void needs_verb() const;  // it does nothing by itself
  Option option(const std::string& names, std::string& value, const std::string& help) const;
  Option option(const std::string& names, std::vector<std::string>& value,
                const std::string& help) const;
  Option option(const std::string& names, int& value, const std::string& help) const;
  Option option(const std::string& names, std::uint64_t& value, const std::string& help) const;
  Option option(const std::string& names, std::int64_t& value, const std::string& help) const;
  Option option(const std::string& names, double& value, const std::string& help) const;
  void flag(const std::string& name, bool& value, const std::string& help) const;
  Option existing(const std::string& name) const;  // an option that was added before
  void remove(const std::string& name) const;      // the same, which this verb has no use for
  // On the command line, known when the verb is called.
  bool is_given(const std::string& name) const;
  void example(const std::string& command) const;  // last line of the help
  // Every option of this one and the verbs below it: which verb, how it is written, what it
  // does, what it takes.
  struct Switch {
    std::string verb, names, help;
    bool takes_value = false, takes_number = false;
    std::vector<std::string> values = {};  // empty: any
    bool separated = false;                // several, by commas
  };
  std::vector<Switch> switches() const;
  struct Word {
    std::string text, help;
  };
  std::vector<Word> verbs() const;  // the verbs below it, each with all before it: "lab", "lab run"
  // The help of the verb that these words name, of this one where there are none; UserError(Usage)
  // where one is unknown.
  std::string help_of(const std::vector<std::string>& words) const;
  void calls(const std::function<int()>& run) const;

 private:
  CLI::App* app_;
  int* status_;
};

// Adds a verb to the application.
using AddVerb = void (*)(const Verb& app);
// Parses the command line and runs the verb it names. Returns the exit status; a wrong command line
// is one line on stderr, in our words, and ExitStatus::Usage.
int run_command_line(int argc, char** argv, const std::vector<AddVerb>& verbs);

}  // namespace polyte::cli
