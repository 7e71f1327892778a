// polyte deps: the dependences of a Program, for a person (text, a picture), for isl's tools and as JSON.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

#include "driver/cli/cli.h"
#include "schedule/proof/dependence_report.h"

namespace polyte::cli {
namespace {

using schedule::DependenceReport;
using schedule::ReportedDependence;

struct DepsOptions {
  OperatorOptions source;
  std::string format = "text";
  std::vector<std::string> statements;
  bool all = false, json = false;
};

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// "(0, -1, 0) or (0, 1, 0)"; of one loop without parentheses.
std::string distances_text(const ReportedDependence& d) {
  std::vector<std::string> all;
  for (const auto& distance : d.distances) {
    std::vector<std::string> ranges;
    for (const schedule::DistanceRange& range : distance) ranges.push_back(to_string(range));
    all.push_back(ranges.size() == 1 ? ranges.front() : "(" + joined(ranges, ", ") + ")");
  }
  const std::string loops = d.loops.size() == 1 ? d.loops.front() : "(" + joined(d.loops, ", ") + ")";
  return loops + ": " + joined(all, " or ");
}

std::string sizes_text(const ReportedDependence& d, const ir::Program& program) {
  std::vector<std::string> sizes;
  for (const std::string& param : program.params) sizes.push_back(param + " = " + std::to_string(d.sizes.at(param)));
  return sizes.empty() ? "" : "      (smallest case: " + joined(sizes, ", ") + ")";
}

std::string example_text(const ReportedDependence& d) {
  const std::string from = schedule::to_string(d.from), to = schedule::to_string(d.to);
  const bool reads_first = d.kind == "anti", reads_last = d.kind == "flow";
  return from + (reads_first ? " reads " : " writes ") + d.cell + ", then " + to +
         (reads_last ? " reads it" : " writes it");
}

std::string meaning_of(const ReportedDependence& d) {
  const std::string who = d.source == d.sink ? "it" : d.sink, whose = d.source == d.sink ? "it" : d.source;
  if (d.reduction) return "the terms of one element follow each other";
  if (d.kind == "flow") return who + " reads what " + whose + " wrote";
  if (d.kind == "anti") return who + " overwrites what " + whose + " read";
  return who + " overwrites what " + whose + " wrote";
}

bool says_the_same(const ReportedDependence& a, const ReportedDependence& b) {
  return a.reduction == b.reduction && a.exact == b.exact && a.distances == b.distances;
}

// Dependences of one pair of statements through one tensor; kinds that say the same in one paragraph.
void print_group(const std::vector<const ReportedDependence*>& group, const ir::Program& program) {
  const ReportedDependence& first = *group.front();
  std::cout << "\n"
            << (first.source == first.sink ? first.sink + " after itself" : first.sink + " after " + first.source)
            << ", through " << first.tensor << "\n";
  std::vector<bool> told(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (told[i]) continue;
    const ReportedDependence& d = *group[i];
    std::string kinds = d.kind;
    for (std::size_t j = i + 1; j < group.size(); ++j)
      if (d.reduction && says_the_same(d, *group[j])) kinds += ", " + group[j]->kind, told[j] = true;
    std::cout << "  " << kinds << "   " << meaning_of(d) << (d.exact ? "" : ", perhaps: known at run time only")
              << "\n";
    std::cout << "    distance   " << (d.loops.empty() ? "no loop in common" : distances_text(d)) << "\n";
    std::cout << "    example    " << example_text(d) << sizes_text(d, program) << "\n";
  }
}

void print_text(const DependenceReport& report) {
  const ir::Program& program = *report.program;
  std::string params;
  for (const std::string& param : program.params) params += (params.empty() ? "" : ", ") + param;
  std::cout << program.name << "(" << params << "): " << report.statements.size() << " statement"
            << (report.statements.size() == 1 ? "" : "s") << ", " << report.dependences.size()
            << (report.direct ? " direct" : "") << " dependence" << (report.dependences.size() == 1 ? "" : "s") << "\n";
  std::vector<const ReportedDependence*> group;
  const auto flush = [&] {
    if (!group.empty()) print_group(group, program);
    group.clear();
  };
  for (const ReportedDependence& d : report.dependences) {
    const ReportedDependence* last = group.empty() ? nullptr : group.back();
    if (last && (last->source != d.source || last->sink != d.sink || last->tensor != d.tensor)) flush();
    group.push_back(&d);
  }
  flush();
}

// `[N] -> { a }` and `[N] -> { b }` as `[N] -> { a; b }`: the sizes are the same everywhere.
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
  return sizes + "{" + joined(bodies, ";") + " }";
}

// Statements of iscc; islpy reads what stands between := and the last semicolon.
void print_isl(const DependenceReport& report) {
  std::cout << "# " << report.program->name << ": " << (report.direct ? "direct" : "all")
            << " dependences; each line is one statement of iscc\n";
  const auto print = [](const std::string& name, const std::vector<std::string>& relations) {
    std::cout << name << " := " << union_of(relations) << ";\n";
  };
  std::vector<std::string> domains, orders, reads, writes;
  for (const schedule::ReportedStatement& s : report.statements) {
    domains.push_back(s.domain);
    orders.push_back(s.order);
    for (std::size_t i = 0; i < s.touches.size(); ++i) (s.writes[i] ? writes : reads).push_back(s.touches[i]);
  }
  print("Context", {report.context});
  print("Domain", domains);
  print("Schedule", orders);
  print("Reads", reads);
  print("Writes", writes);
  for (const auto& [name, kind] : {std::pair{"Flow", "flow"}, {"Anti", "anti"}, {"Output", "output"}}) {
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
  nlohmann::ordered_json json{{"kind", d.kind},         {"source", d.source},       {"sink", d.sink},
                              {"tensor", d.tensor},     {"reduction", d.reduction}, {"exact", d.exact},
                              {"relation", d.relation}, {"loops", d.loops}};
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
  json["example"] = {{"source", to_json(d.from)}, {"sink", to_json(d.to)}, {"element", d.cell}, {"sizes", d.sizes}};
  return json;
}

void print_json(const DependenceReport& report) {
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
    for (std::size_t i = 0; i < s.touches.size(); ++i) one[s.writes[i] ? "writes" : "reads"].push_back(s.touches[i]);
    json["statements"].push_back(std::move(one));
  }
  for (const ReportedDependence& d : report.dependences) json["dependences"].push_back(to_json(d));
  json["notes"] = report.notes;
  std::cout << json.dump(2) << "\n";
}

// Those between the named statements; UserError(Usage) where the Program has no such.
void keep_only(DependenceReport& report, const std::vector<std::string>& statements) {
  if (statements.empty()) return;
  std::vector<std::string> names;
  for (const schedule::ReportedStatement& s : report.statements) names.push_back(s.name);
  for (const std::string& wanted : statements)
    if (std::ranges::find(names, wanted) == names.end())
      throw UserError(ExitStatus::Usage, "--statement " + wanted + ": the program has " + joined(names, ", "));
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::find(statements, name) != statements.end();
  };
  std::erase_if(report.statements, [&](const schedule::ReportedStatement& s) { return !is_wanted(s.name); });
  std::erase_if(report.dependences,
                [&](const ReportedDependence& d) { return !is_wanted(d.source) || !is_wanted(d.sink); });
}

int run_deps(const DepsOptions& options) {
  const auto program = load_symbolic_program(options.source, "");
  DependenceReport report =
      schedule::report_dependences(program, options.all ? schedule::Pairs::All : schedule::Pairs::Direct);
  keep_only(report, options.statements);
  for (const std::string& note : report.notes) std::cerr << "note: " << note << "\n";
  const std::string format = options.json ? "json" : options.format;
  if (format == "text") print_text(report);
  if (format == "isl") print_isl(report);
  if (format == "json") print_json(report);
  return 0;
}

}  // namespace

void add_deps(const Verb& app) {
  const Verb verb = app.verb("deps", "dependences of a Program: which statement waits for which, and how far apart");
  auto options = std::make_shared<DepsOptions>();
  add_operator_options(verb, options->source);
  verb.option("--format", options->format, "text, isl (for iscc and islpy) or json")
      .one_of({"text", "isl", "json"})
      .shows_default();
  verb.flag("--json", options->json, "the same as --format json");
  verb.option("--statement", options->statements, "only these, and what is between them; repeatable").one_at_a_time();
  verb.flag("--all", options->all, "every pair that touches one element, not only those without a write between");
  verb.example("polyte deps jacobi.program --format isl");
  verb.calls([options] { return run_deps(*options); });
}

}  // namespace polyte::cli
