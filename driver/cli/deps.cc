// polyte deps: the dependences of a Program, for a person (text, a picture), for isl's tools
// and as JSON.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "driver/cli/cli.h"
#include "driver/cli/dependence_picture.h"
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

// "(0, -1, 0) or (0, 1, 0)"; of one loop without parentheses.
std::string distances_text(const ReportedDependence& d) {
  std::vector<std::string> all;
  for (const auto& distance : d.distances) {
    std::vector<std::string> ranges;
    for (const schedule::DistanceRange& range : distance) ranges.push_back(to_string(range));
    all.push_back(ranges.size() == 1 ? ranges.front() : "(" + join_words(ranges, ", ") + ")");
  }
  const std::string loops =
      d.loops.size() == 1 ? d.loops.front() : "(" + join_words(d.loops, ", ") + ")";
  return loops + ": " + join_words(all, " or ");
}

std::string sizes_text(const ReportedDependence& d, const ir::Program& program) {
  std::vector<std::string> sizes;
  for (const std::string& param : program.params)
    sizes.push_back(param + " = " + std::to_string(d.sizes.at(param)));
  return sizes.empty() ? "" : "      (smallest case: " + join_words(sizes, ", ") + ")";
}

// flow: writes, then reads; anti: reads, then writes; output: writes, then writes.
std::string example_text(const ReportedDependence& d) {
  const std::string from = schedule::to_string(d.from), to = schedule::to_string(d.to);
  const bool reads_first = d.kind == "anti", reads_last = d.kind == "flow";
  return from + (reads_first ? " reads " : " writes ") + d.cell + ", then " + to +
         (reads_last ? " reads it" : " writes it");
}

std::string meaning_of(const ReportedDependence& d) {
  const std::string who = d.source == d.sink ? "it" : d.sink,
                    whose = d.source == d.sink ? "it" : d.source;
  if (d.reduction) return "the terms of one element follow each other";
  if (d.kind == "flow") return who + " reads what " + whose + " wrote";
  if (d.kind == "anti") return who + " overwrites what " + whose + " read";
  return who + " overwrites what " + whose + " wrote";
}

bool says_the_same(const ReportedDependence& a, const ReportedDependence& b) {
  return a.reduction == b.reduction && a.exact == b.exact && a.distances == b.distances;
}

// Dependences of one pair of statements through one tensor; kinds that say the same in
// one paragraph, as flow, anti and output of a sum do.
//   S after itself, through A
//     flow   it reads what it wrote
//       distance   (t, i): (0, 1) or (1, -1) or (1, 0)
//       example    S(t=0, i=1) writes A[1], then S(t=0, i=2) reads it
void print_group(std::ostream& out, const std::vector<const ReportedDependence*>& group,
                 const ir::Program& program) {
  const ReportedDependence& first = *group.front();
  out << "\n"
      << (first.source == first.sink ? first.sink + " after itself"
                                     : first.sink + " after " + first.source)
      << ", through " << first.tensor << "\n";
  std::vector<bool> told(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (told[i]) continue;
    const ReportedDependence& d = *group[i];
    std::string kinds = d.kind;
    for (std::size_t j = i + 1; j < group.size(); ++j)
      if (d.reduction && says_the_same(d, *group[j]))
        kinds += ", " + group[j]->kind, told[j] = true;
    out << "  " << kinds << "   " << meaning_of(d)
        << (d.exact ? "" : ", perhaps: known at run time only") << "\n";
    out << "    distance   " << (d.loops.empty() ? "no loop in common" : distances_text(d)) << "\n";
    out << "    example    " << example_text(d) << sizes_text(d, program) << "\n";
  }
}

void print_text(std::ostream& out, const DependenceReport& report) {
  const ir::Program& program = *report.program;
  std::string params;
  for (const std::string& param : program.params) params += (params.empty() ? "" : ", ") + param;
  out << program.name << "(" << params << "): " << report.statements.size() << " statement"
      << (report.statements.size() == 1 ? "" : "s") << ", " << report.dependences.size()
      << (report.direct ? " direct" : "") << " dependence"
      << (report.dependences.size() == 1 ? "" : "s") << "\n";
  std::vector<const ReportedDependence*> group;
  const auto flush = [&] {
    if (!group.empty()) print_group(out, group, program);
    group.clear();
  };
  for (const ReportedDependence& d : report.dependences) {
    const ReportedDependence* last = group.empty() ? nullptr : group.back();
    if (last && (last->source != d.source || last->sink != d.sink || last->tensor != d.tensor))
      flush();
    group.push_back(&d);
  }
  flush();
}

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
void print_isl(std::ostream& out, const DependenceReport& report) {
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
}

nlohmann::ordered_json to_json(const schedule::Instance& instance) {
  nlohmann::ordered_json json{{"statement", instance.statement}};
  json["iterators"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : instance.iterators) json["iterators"][name] = value;
  return json;
}

nlohmann::ordered_json to_json(const ReportedDependence& d) {
  nlohmann::ordered_json json{{"kind", d.kind},           {"source", d.source},
                              {"sink", d.sink},           {"tensor", d.tensor},
                              {"reduction", d.reduction}, {"exact", d.exact},
                              {"relation", d.relation},   {"loops", d.loops}};
  json["distances"] = nlohmann::ordered_json::array();
  for (const auto& distance : d.distances) {
    auto ranges = nlohmann::ordered_json::array();
    for (const schedule::DistanceRange& range : distance) {
      nlohmann::ordered_json one{{"min", nullptr}, {"max", nullptr}};  // null: no bound
      if (range.min) one["min"] = *range.min;
      if (range.max) one["max"] = *range.max;
      ranges.push_back(std::move(one));
    }
    json["distances"].push_back(std::move(ranges));
  }
  json["example"] = {{"source", to_json(d.from)},
                     {"sink", to_json(d.to)},
                     {"element", d.cell},
                     {"sizes", d.sizes}};
  return json;
}

void print_json(std::ostream& out, const DependenceReport& report) {
  nlohmann::ordered_json json{{"program", report.program->name},
                              {"sizes", report.program->params},
                              {"pairs", report.direct ? "direct" : "all"},
                              {"context", report.context}};
  json["statements"] = nlohmann::ordered_json::array();
  json["dependences"] = nlohmann::ordered_json::array();
  for (const schedule::ReportedStatement& s : report.statements) {
    nlohmann::ordered_json one{{"name", s.name},
                               {"isl_name", s.isl_name},
                               {"iterators", s.iterators},
                               {"domain", s.domain},
                               {"order", s.order}};
    one["reads"] = one["writes"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < s.touches.size(); ++i)
      one[s.writes[i] ? "writes" : "reads"].push_back(s.touches[i]);
    json["statements"].push_back(std::move(one));
  }
  for (const ReportedDependence& d : report.dependences) json["dependences"].push_back(to_json(d));
  json["notes"] = report.notes;
  out << json.dump(2) << "\n";
}

// Those between the named statements; UserError(Usage) where the Program has no such.
void keep_only(DependenceReport& report, const std::vector<std::string>& statements) {
  if (statements.empty()) return;
  std::vector<std::string> names;
  for (const schedule::ReportedStatement& s : report.statements) names.push_back(s.name);
  for (const std::string& wanted : statements)
    if (std::ranges::find(names, wanted) == names.end())
      throw UserError(ExitStatus::Usage,
                      "--statement " + wanted + ": the program has " + join_words(names, ", "));
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::find(statements, name) != statements.end();
  };
  std::erase_if(report.statements,
                [&](const schedule::ReportedStatement& s) { return !is_wanted(s.name); });
  std::erase_if(report.dependences, [&](const ReportedDependence& d) {
    return !is_wanted(d.source) || !is_wanted(d.sink);
  });
}

// --- pictures

constexpr std::int64_t kDrawnSize = 6;  // of a size that is not given

std::shared_ptr<const ir::Program> small_program(
    const std::shared_ptr<const ir::Program>& program) {
  if (program->params.empty()) return program;
  ir::Values sizes;
  for (const std::string& param : program->params) sizes[param] = kDrawnSize;
  return std::make_shared<const ir::Program>(ir::bind(*program, sizes));
}

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
  const std::shared_ptr<const ir::Program> program = small_program(open);
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
  DependenceReport report = schedule::report_dependences(
      program, options.all ? schedule::Pairs::All : schedule::Pairs::Direct);
  keep_only(report, options.statements);
  for (const std::string& note : report.notes) std::cerr << "note: " << note << "\n";
  std::ostringstream out;
  if (options.json || options.format == "json")
    print_json(out, report);
  else if (options.format == "isl")
    print_isl(out, report);
  else
    print_text(out, report);
  return out.str();
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
