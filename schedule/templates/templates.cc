#include "schedule/templates/templates.h"

#include <algorithm>

#include "schedule/cost/streaming.h"
#include "schedule/script/nest_writer.h"
#include "schedule/state/digits.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

using Template = Result<NestPlan> (*)(KernelSoFar&, const StatementGroup&);
constexpr Template kTemplates[] = {plan_reduction, plan_pointwise};

// The first template that takes the group; else the last one's reason.
Result<NestPlan> plan_group(KernelSoFar& kernel, const StatementGroup& group) {
  Result<NestPlan> plan = Decline{""};
  for (const Template& each : kTemplates) {
    plan = each(kernel, group);
    if (plan) break;
  }
  return plan;
}

const ir::Statement& main_of(const StatementGroup& group) { return group.update ? *group.update : *group.plain; }

// One iteration, or not even a loop: there is nothing that a template could do.
bool is_single(const State& reference, const StatementGroup& group) {
  const std::vector<IteratorFacts> facts = facts_of(reference, main_of(group));
  return std::ranges::all_of(facts, [](const IteratorFacts& fact) { return fact.extent <= 1; });
}

class TemplateScheduler {
 public:
  TemplateScheduler(KernelSoFar& kernel, const TemplateOptions& options) : kernel_(kernel), options_(options) {}

  // What no template takes stays in reference order beside the others; alone it is declined.
  Result<KernelPlan> run() {
    const std::vector<StatementGroup> groups = group_statements(kernel_.program);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < groups.size(); ++kernel_.number) {
      RowRun rows = plan_rows(kernel_, std::span(groups).subspan(i), options_.keep_order);
      if (rows.groups > 0) plan_.nests.push_back(std::move(rows.plan));
      taken += rows.groups > 0 ? rows.groups : takes(groups[i]);
      i += std::max<std::size_t>(rows.groups, 1);
    }
    if (taken == 0 && !groups.empty()) return Decline{reason_};
    for (const std::string& result : streamed_results(kernel_.program, kernel_.machine, plan_.nests))
      plan_.streams.push_back({result, Provenance::Template});
    return std::move(plan_);
  }

 private:
  KernelSoFar& kernel_;
  const TemplateOptions& options_;
  KernelPlan plan_;
  std::string reason_;  // why the last group was not taken

  std::size_t takes(const StatementGroup& group) {
    if (is_empty(kernel_.reference, kernel_.reference.at(main_of(group).name))) return 1;  // nothing is to schedule
    Result<NestPlan> plan = plan_group(kernel_, group);
    if (!plan) reason_ = plan.error().reason;
    const bool has_loops = plan && plan->tree;
    if (!has_loops && options_.notes && !is_single(kernel_.reference, group))
      options_.notes->push_back("'" + main_of(group).name + "' stays in reference order: " +
                                (plan ? "no loop of it is long enough for lanes or tiles" : reason_));
    if (has_loops) plan_.nests.push_back(std::move(*plan));
    return plan ? 1 : 0;
  }
};

}  // namespace

Result<Script> make_template(const ir::Program& program, const Machine& machine, const TemplateOptions& options) {
  const State reference = reference_state(std::make_shared<const ir::Program>(program));
  KernelSoFar kernel{program, reference, machine};
  const Result<KernelPlan> plan = TemplateScheduler(kernel, options).run();
  if (!plan) return plan.error();
  return write_script(program, "template", machine, *plan);
}

}  // namespace polyte::schedule
