// polyte deps: the dependences of a Program, for a person (text, a picture), for isl's tools
// and as JSON.
#include <iostream>
#include <sstream>

#include "driver/cli/cli.h"
#include "driver/cli/dependence_picture.h"
#include "driver/cli/dependence_text.h"
#include "driver/cli/output_files.h"
#include "schedule/proof/dependence_report.h"
#include "schedule/proof/openscop.h"
#include "schedule/script/replay.h"
#include "support/join_words.h"

namespace polyte::cli {
namespace {

using schedule::DependenceReport;
using schedule::ReportedDependence;

struct DepsOptions {
  OperatorOptions source;
  std::string format = "text";
  std::string output, script, scheduler;
  std::vector<std::string> statements, axes, params;
  bool all = false, json = false;
};

// `[N] -> { a }` and `[N] -> { b }` as `[N] -> { a; b }`: the sizes are the same everywhere.
// isl prints the parameters before each relation, and iscc wants them once.
std::string union_of(const std::vector<std::string>& relations) {
  if (relations.empty()) return "{ }";
  std::vector<std::string> bodies;
  for (const std::string& relation : relations) {
    const std::size_t first = relation.find('{') + 1;
    std::size_t last = relation.rfind('}');
    while (last > first && relation[last - 1] == ' ') --last;
    bodies.push_back(relation.substr(first, last - first));
  }
  const std::string sizes = relations.front().substr(0, relations.front().find('{'));
  return sizes + "{" + join_words(bodies, ";") + " }";
}

// Statements of iscc; islpy reads what stands between := and the last semicolon.
// iscc is the calculator of the barvinok library: NAME := RELATION; with # for comments.
//   Domain := [T, N] -> { S[t, i] : 0 <= t < T and 0 < i <= -2 + N };
//   Schedule := [T, N] -> { S[t, i] -> [t, i] : 0 <= t < T and 0 < i <= -2 + N };
std::string isl_text(const DependenceReport& report) {
  std::ostringstream out;
  out << "# " << report.program->name << ": " << (report.direct ? "direct" : "all")
      << " dependences; each line is one statement of iscc\n";
  const auto print = [&out](const std::string& name, const std::vector<std::string>& relations) {
    out << name << " := " << union_of(relations) << ";\n";
  };
  std::vector<std::string> domains, orders, reads, writes;
  for (const schedule::ReportedStatement& s : report.statements) {
    domains.push_back(s.domain);
    orders.push_back(s.order);
    for (std::size_t i = 0; i < s.touches.size(); ++i)
      (s.writes[i] ? writes : reads).push_back(s.touches[i]);
  }
  print("Context", {report.context});
  print("Domain", domains);
  print("Schedule", orders);
  print("Reads", reads);
  print("Writes", writes);
  for (const auto& [name, kind] :
       {std::pair{"Flow", "flow"}, {"Anti", "anti"}, {"Output", "output"}}) {
    std::vector<std::string> relations;
    for (const ReportedDependence& d : report.dependences)
      if (d.kind == kind) relations.push_back(d.relation);
    print(name, relations);
  }
  return out.str();
}

// --- pictures

// A refused script is drawn too: its order is what is wrong with it.
schedule::State scripted(const DepsOptions& options,
                         const std::shared_ptr<const ir::Program>& program,
                         const Machine& machine) {
  const schedule::Script script = load_script(options.script, options.params);
  auto state = schedule::replay(program, script, machine, {});
  if (state) return *std::move(state);
  const std::string refusal = schedule::to_string(state.error(), options.script, "");
  schedule::ReplayOptions unproved;
  unproved.proof = schedule::ProofLevel::Off;
  state = schedule::replay(program, script, machine, unproved);
  if (!state) throw UserError(schedule::exit_status(state.error().kind), refusal);
  std::cerr << refusal << "note: drawn as it says\n";
  return *std::move(state);
}

std::string picture(const DepsOptions& options, const std::shared_ptr<const ir::Program>& open) {
  const std::shared_ptr<const ir::Program> program = small_case(open);
  PictureOptions picture{
      .statements = options.statements, .axes = options.axes, .with_order = false, .title = ""};
  const Machine machine = target_from("cpu:native").machine;
  if (!options.script.empty()) {
    picture.with_order = true;
    picture.title = options.script;
    return dependence_picture(scripted(options, program, machine), picture);
  }
  if (options.scheduler.empty())
    return dependence_picture(schedule::reference_state(program), picture);
  driver::KernelOptions kernel_options;
  kernel_options.scheduler = *driver::scheduler_from_string(options.scheduler);
  const driver::BuiltKernel kernel = driver::build_kernel(program, machine, kernel_options);
  for (const std::string& note : kernel.notes) std::cerr << "note: " << note << "\n";
  picture.with_order = true;
  picture.title = kernel.script.name;
  return dependence_picture(*kernel.state, picture);
}

void check_combination(const DepsOptions& options) {
  std::vector<std::string> problems;
  const bool draws = options.format == "svg" && !options.json;
  if (options.json && options.format != "text" && options.format != "json")
    problems.push_back("--json and --format " + options.format + ": expected one of them");
  if (!draws && (!options.script.empty() || !options.scheduler.empty() || !options.axes.empty()))
    problems.emplace_back("--script, --scheduler and --axes are of a picture: give --format svg");
  if (!options.script.empty() && !options.scheduler.empty())
    problems.emplace_back("--script and --scheduler: one order is drawn, give one of them");
  if (!options.params.empty() && options.script.empty())
    problems.push_back("--param " + options.params.front() + ": there is no --script");
  if (draws && options.all) problems.emplace_back("--all: a picture has direct dependences only");
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

std::string text_of(const DepsOptions& options) {
  const auto program = load_open_program(options.source);
  if (options.format == "svg") return picture(options, program);
  if (options.format == "openscop")
    return schedule::openscop_text(schedule::reference_state(program));
  const DependenceReport report = dependences_of(program, {options.statements, options.all});
  for (const std::string& note : report.notes) std::cerr << "note: " << note << "\n";
  if (options.json || options.format == "json") return dependence_json(report);
  return options.format == "isl" ? isl_text(report) : dependence_text(report);
}

int run_deps(const DepsOptions& options) {
  check_combination(options);
  if (!options.output.empty())
    check_output_file("-o " + options.output, options.output,
                      {options.source.source, options.script});
  const std::string text = text_of(options);
  if (options.output.empty())
    std::cout << text;
  else
    write_file(options.output, text);
  return 0;
}

}  // namespace

void add_deps(const Verb& app) {
  const Verb verb = app.verb(
      "deps", "dependences of a Program: which statement waits for which, and how far apart");
  auto options = std::make_shared<DepsOptions>();
  add_operator_options(verb, options->source);
  verb.option("--format", options->format,
              "text, isl (for iscc and islpy), openscop (the Program), json, or svg: a picture of "
              "a small case")
      .one_of({"text", "isl", "openscop", "json", "svg"})
      .shows_default();
  verb.flag("--json", options->json, "the same as --format json");
  verb.option("-o,--output", options->output, "a file, in place of stdout");
  verb.option("--statement", options->statements,
              "only these, and what is between them; repeatable")
      .one_at_a_time();
  verb.flag("--all", options->all,
            "every pair that touches one element, not only those without a write between");
  verb.option("--axes", options->axes,
              "of a picture: one to three loops, t,i,j; others stay at their first value")
      .separated();
  verb.option("--script", options->script,
              "of a picture: the order of this schedule, drawn over it");
  verb.option("--scheduler", options->scheduler,
              "of a picture: the order that naive, isl, poly or template chooses")
      .one_of({"naive", "isl", "poly", "template"});
  add_param_option(verb, options->params);
  verb.example("polyte deps jacobi.program --format svg --script jacobi.sched -o jacobi.svg");
  verb.calls([options] { return run_deps(*options); });
}

}  // namespace polyte::cli
