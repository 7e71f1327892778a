#include "driver/cli/dependence_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

#include "driver/cli/dependence_picture.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::cli {

using schedule::DependenceReport;
using schedule::ReportedDependence;

namespace {

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

using Group = std::vector<const ReportedDependence*>;

// Of one pair of statements through one tensor each.
std::vector<Group> groups_of(const DependenceReport& report) {
  std::vector<Group> groups;
  for (const ReportedDependence& d : report.dependences) {
    const ReportedDependence* last = groups.empty() ? nullptr : groups.back().back();
    if (!last || last->source != d.source || last->sink != d.sink || last->tensor != d.tensor)
      groups.emplace_back();
    groups.back().push_back(&d);
  }
  return groups;
}

std::string title_of(const ReportedDependence& d) {
  return (d.source == d.sink ? d.sink + " after itself" : d.sink + " after " + d.source) +
         ", through " + d.tensor;
}

// Dependences of one pair of statements through one tensor; kinds that say the same in
// one paragraph, as flow, anti and output of a sum do.
//   S after itself, through A
//     flow   it reads what it wrote
//       distance   (t, i): (0, 1) or (1, -1) or (1, 0)
//       example    S(t=0, i=1) writes A[1], then S(t=0, i=2) reads it
void print_group(std::ostream& out, const Group& group, const ir::Program& program) {
  out << "\n" << title_of(*group.front()) << "\n";
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

}  // namespace

std::vector<std::string> dependence_pairs(const DependenceReport& report) {
  std::vector<std::string> lines;
  for (const Group& group : groups_of(report)) {
    std::string line = title_of(*group.front()) + ": ";
    for (std::size_t i = 0; i < group.size(); ++i) {
      const ReportedDependence& d = *group[i];
      line += (i == 0 ? "" : ", ") + d.kind;
      const bool is_last = i + 1 == group.size() || group[i + 1]->distances != d.distances;
      if (is_last && !d.loops.empty()) line += " " + distances_text(d);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string dependence_text(const DependenceReport& report) {
  std::ostringstream out;
  const ir::Program& program = *report.program;
  std::string params;
  for (const std::string& param : program.params) params += (params.empty() ? "" : ", ") + param;
  out << program.name << "(" << params << "): " << report.statements.size() << " statement"
      << (report.statements.size() == 1 ? "" : "s") << ", " << report.dependences.size()
      << (report.direct ? " direct" : "") << " dependence"
      << (report.dependences.size() == 1 ? "" : "s") << "\n";
  for (const Group& group : groups_of(report)) print_group(out, group, program);
  return out.str();
}

namespace {

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

}  // namespace

std::string dependence_json(const DependenceReport& report) {
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
  return json.dump(2) + "\n";
}

namespace {

// Those between the named statements; UserError(Usage) where the Program has no such.
void keep_statements(DependenceReport& report, const std::vector<std::string>& statements) {
  if (statements.empty()) return;
  std::vector<std::string> names;
  for (const schedule::ReportedStatement& s : report.statements) names.push_back(s.name);
  for (const std::string& wanted : statements)
    if (std::ranges::find(names, wanted) == names.end())
      throw UserError(ExitStatus::Usage, "statement '" + wanted + "': the program has " +
                                             join_words(names, ", ") + did_you_mean(wanted, names));
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::find(statements, name) != statements.end();
  };
  std::erase_if(report.statements,
                [&](const schedule::ReportedStatement& s) { return !is_wanted(s.name); });
  std::erase_if(report.dependences, [&](const ReportedDependence& d) {
    return !is_wanted(d.source) || !is_wanted(d.sink);
  });
}

}  // namespace

DependenceReport dependences_of(const std::shared_ptr<const ir::Program>& program,
                                const DependenceQuery& query) {
  DependenceReport report = schedule::report_dependences(
      program, query.all ? schedule::Pairs::All : schedule::Pairs::Direct);
  keep_statements(report, query.statements);
  return report;
}

namespace {
constexpr std::int64_t kDrawnSize = 6;  // of a size that is not given
}

std::shared_ptr<const ir::Program> small_case(const std::shared_ptr<const ir::Program>& program) {
  if (program->params.empty()) return program;
  ir::Values sizes;
  for (const std::string& param : program->params) sizes[param] = kDrawnSize;
  return std::make_shared<const ir::Program>(ir::bind(*program, sizes));
}

std::string reference_picture(const std::shared_ptr<const ir::Program>& program,
                              const std::vector<std::string>& statements) {
  return dependence_picture(
      schedule::reference_state(small_case(program)),
      {.statements = statements, .axes = {}, .with_order = false, .title = ""});
}

}  // namespace polyte::cli
