#include "poly/completion_sources.h"

#include <algorithm>
#include <iterator>

#include "poly/instance_order.h"
#include "poly/order_plan.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/own_script.h"
#include "schedule/templates/templates.h"

namespace polyte::poly {
namespace {

// Each plan is replayed and priced for every hole; of large Programs finding orders alone takes
// long.
constexpr std::size_t kMostPlans = 6, kMostStatements = 24;

// Orders of all instances, each as its nest, the cheapest first.
void add_plans(const ir::Program& program, const Machine& machine, const PolyOptions& options,
               std::vector<CompletionSource>& sources) {
  if (program.statements.size() > kMostStatements) return;
  const schedule::State reference =
      schedule::reference_state(std::make_shared<const ir::Program>(program));
  std::vector<OrderPlan> plans;
  for (const OrderAttempt& attempt : instance_orders(program).found)
    std::ranges::move(
        plans_of(program, reference, attempt.name, attempt.tree, machine, options.keep_order),
        std::back_inserter(plans));
  std::ranges::sort(plans, {},
                    [](const OrderPlan& plan) { return std::pair(plan.cycles, plan.name); });
  plans.resize(std::min(plans.size(), kMostPlans));
  for (OrderPlan& plan : plans)
    sources.push_back(
        {plan.name,
         schedule::write_script(program, "poly", machine, {.nests = {std::move(plan.nest)}}),
         false});
}

}  // namespace

std::vector<CompletionSource> completion_sources(const ir::Program& program, const Machine& machine,
                                                 const PolyOptions& options) {
  std::vector<CompletionSource> sources;
  if (auto script = auto_schedule(program, machine, options))
    sources.push_back({"poly", *std::move(script)});
  if (!machine.gpu) {
    add_plans(program, machine, options, sources);
    PolyOptions as_isl_says = options;
    as_isl_says.affine_core_only = true, as_isl_says.notes = as_isl_says.considered = nullptr;
    if (auto script = auto_schedule(program, machine, as_isl_says))
      sources.push_back({"isl", *std::move(script), false});
    if (auto script = schedule::make_template(program, machine, {.keep_order = options.keep_order}))
      sources.push_back({"template", *std::move(script)});
  }
  sources.push_back({"reference order", schedule::own_script(program, "poly", machine), false});
  return sources;
}

}  // namespace polyte::poly
