#include "schedule/templates/templates.h"

#include <algorithm>

#include "schedule/cost/streaming.h"
#include "schedule/script/own_script.h"
#include "schedule/state/digits.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

using Template = bool (*)(const ir::Program&, const State&, const Machine&, const NestPlan&, ScriptText&, std::string&);
constexpr Template kTemplates[] = {schedule_reduction, schedule_pointwise};

// One iteration, or not even a loop: there is nothing that a template could do.
bool is_single(const State& reference, const NestPlan& plan) {
  const std::vector<IteratorFacts> facts = facts_of(reference, plan.update ? *plan.update : *plan.plain);
  return std::ranges::all_of(facts, [](const IteratorFacts& fact) { return fact.extent <= 1; });
}

}  // namespace

Result<Script> make_template(const ir::Program& program, const Machine& machine, const TemplateOptions& options) {
  const State reference = reference_state(std::make_shared<const ir::Program>(program));
  ScriptText text{""};
  const std::vector<NestPlan> plans = plan_nests(program);
  std::string reason;
  const auto is_empty = [&](const ir::Statement* s) {
    return s && schedule::is_empty(reference, reference.at(s->name));
  };
  const auto takes = [&](const NestPlan& plan) {
    if (is_empty(plan.update) || is_empty(plan.plain)) return true;  // without iterations nothing is to schedule
    const std::string before = text.lines;
    const bool is_taken = std::ranges::any_of(
        kTemplates, [&](Template schedule) { return schedule(program, reference, machine, plan, text, reason); });
    if (text.lines == before && options.notes && !is_single(reference, plan))
      options.notes->push_back("'" + (plan.update ? plan.update : plan.plain)->name + "' stays in reference order: " +
                               (is_taken ? "no loop of it is long enough for lanes or tiles" : reason));
    return is_taken;
  };
  std::size_t taken = 0;
  for (std::size_t i = 0; i < plans.size(); ++text.nest) {
    const std::size_t rows =
        schedule_rows(program, reference, machine, std::span(plans).subspan(i), options.keep_order, text);
    taken += rows + (rows == 0 && takes(plans[i]));
    i += std::max<std::size_t>(rows, 1);
  }
  // What no template takes stays in reference order beside the others; alone it is declined.
  if (taken == 0 && !plans.empty()) return Decline{reason};
  for (const std::string& line : stream_lines(program, machine, text.in_place)) text.add(line);
  Script script =
      parse_script(print(own_script(program, "template", machine, text.reassociated)) + text.lines, "template");
  for (Directive& directive : script.directives) {
    directive.provenance = Provenance::Template;
    directive.line = 0;
  }
  return script;
}

}  // namespace polyte::schedule
