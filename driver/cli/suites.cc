// polyte suites: Programs with sizes that others measure too, to name in experiments (docs/lab.md).
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "driver/cli/cli.h"
#include "driver/lab/suite.h"
#include "driver/lab/suite_check.h"
#include "driver/lab/text_table.h"

namespace polyte::cli {
namespace {

struct SuitesVerb {
  std::string name;
  std::vector<std::string> arms;
  bool check = false, json = false;
};

std::string sizes_text(const lab::Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

// The type of what is computed: inputs may be of others, such as positions.
std::string type_of(const ir::Program& program) {
  for (const ir::Buffer* buffer : program.interface())
    if (buffer->role == ir::Role::Out || buffer->role == ir::Role::InOut)
      return std::string(to_string(buffer->dtype));
  return "";
}

nlohmann::ordered_json to_json(const lab::Suite& suite) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const lab::SuiteRow& row : suite.rows)
    rows.push_back({{"name", row.name},
                    {"program", row.program.name},
                    {"file", row.origin},
                    {"dtype", type_of(row.program)},
                    {"sizes", row.sizes},
                    {"source", row.source}});
  return {{"name", suite.name},
          {"title", suite.title},
          {"source", suite.source},
          {"file", suite.path},
          {"rows", rows}};
}

std::vector<std::string> known_suites() {
  std::vector<std::string> names = lab::suite_names();
  if (names.empty())
    throw UserError(
        ExitStatus::InvalidInput,
        "no suites are installed: set POLYTE_SUITES to a folder of suites (bench/suites)");
  return names;
}

// The file of every suite is read, so that a faulty one shows here.
int list_suites(bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::ostringstream lines;
  for (const std::string& name : known_suites()) {
    const lab::Suite suite = lab::read_suite(name, "");
    std::ostringstream head;
    head << std::left << std::setw(16) << name << std::right << std::setw(5) << suite.rows.size()
         << "  ";
    const std::string indent(head.str().size(), ' ');
    lines << head.str() << lab::wrapped(suite.title, indent).substr(indent.size())
          << lab::wrapped(suite.source, indent);
    all.push_back({{"name", name},
                   {"rows", suite.rows.size()},
                   {"title", suite.title},
                   {"source", suite.source}});
  }
  std::cout << (json ? all.dump(1) + "\n" : lines.str());
  return 0;
}

// All that is wrong with the arms at once; a script has one program, a suite has many.
std::vector<lab::ArmSpec> arms_of(const SuitesVerb& verb) {
  std::vector<lab::ArmSpec> arms;
  std::vector<std::string> problems;
  for (const std::string& text : verb.arms) {
    arms.push_back(lab::arm_of(text));
    if (arms.back().kind == lab::ArmSpec::Kind::Script)
      problems.push_back("--arm " + text + ": a script is for one program");
    for (const std::string& problem : lab::problems_of(arms.back()))
      problems.push_back("--arm: " + problem);
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
  return arms;
}

// Texts are empty where there is nothing to say.
nlohmann::ordered_json to_json(const lab::Suite& suite,
                               const std::vector<lab::SuiteFinding>& findings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const lab::SuiteFinding& finding : findings)
    rows.push_back({{"row", finding.row},
                    {"arm", finding.arm},
                    {"problem", finding.problem},
                    {"declined", finding.declined}});
  return {{"name", suite.name}, {"checks", rows}};
}

// What an arm declines is no failure; what it computes wrongly is.
int check_one(const lab::Suite& suite, const std::vector<lab::ArmSpec>& arms, bool json) {
  std::size_t wrong = 0, declined = 0;
  std::ostringstream lines;
  const std::vector<lab::SuiteFinding> findings = lab::check_suite(suite, arms);
  for (const lab::SuiteFinding& finding : findings) {
    if (finding.problem.empty() && finding.declined.empty()) continue;
    ++(finding.problem.empty() ? declined : wrong);
    lines << suite.name << "/" << finding.row << ", " << finding.arm << ": " << finding.problem
          << finding.declined << "\n";
  }
  lines << suite.name << ": " << findings.size() - wrong - declined << " of " << findings.size()
        << " programs compute what the interpreter does at reduced sizes";
  if (declined > 0) lines << ", " << declined << " cannot be had";
  lines << "\n";
  std::cout << (json ? to_json(suite, findings).dump(1) + "\n" : lines.str());
  return wrong == 0 ? 0 : static_cast<int>(ExitStatus::Refused);
}

int run_suites(const SuitesVerb& verb) {
  if (verb.name.empty()) {
    // --arm asks for the check by itself: there is nothing else that it could be for.
    if (verb.check || !verb.arms.empty())
      throw UserError(ExitStatus::Usage, "--check: give a suite's name");
    return list_suites(verb.json);
  }
  const lab::Suite suite = lab::read_suite(verb.name, "");
  if (verb.check || !verb.arms.empty()) return check_one(suite, arms_of(verb), verb.json);
  if (verb.json) return std::cout << to_json(suite).dump(1) << "\n", 0;
  std::cout << lab::wrapped(suite.title, "") << lab::wrapped(suite.source, "") << "\n";
  std::vector<lab::Cells> cells;
  for (const lab::SuiteRow& row : suite.rows)
    cells.push_back({row.name, row.program.name, type_of(row.program), sizes_text(row.sizes)});
  std::cout << lab::text_table({"row", "program", "type", "sizes"}, cells);
  return 0;
}

}  // namespace

void add_suites(const Verb& app) {
  const Verb verb =
      app.verb("suites", "suites for experiments: what there is, and the rows of one");
  auto options = std::make_shared<SuitesVerb>();
  verb.option("suite", options->name,
              "a suite's name or file, NAME:SET for another set of its sizes; else all suites");
  verb.flag("--check", options->check, "hold its programs to the interpreter at reduced sizes");
  verb.option("--arm", options->arms,
              "check what this arm of experiments makes of them, peer:torch; repeatable")
      .one_at_a_time();
  verb.flag("--json", options->json, "as JSON");
  verb.example("polyte suites polybench-f64:SMALL");
  verb.calls([options] { return run_suites(*options); });
}

}  // namespace polyte::cli
