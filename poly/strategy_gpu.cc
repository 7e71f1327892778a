#include "poly/strategy_gpu.h"

#include <algorithm>

#include "poly/block_nest.h"
#include "poly/nest_order.h"
#include "poly/point_nest.h"
#include "poly/row_nest.h"
#include "poly/shared_nest.h"
#include "poly/spread_nest.h"

namespace polyte::poly {
namespace {

void top_nests(const Core& core, std::vector<Core>& nests) {
  if (const auto* sequence = std::get_if<CoreSequence>(&core->op)) {
    for (const Core& child : sequence->children) top_nests(child, nests);
  } else {
    nests.push_back(core);
  }
}

}  // namespace

NestSchedule schedule_for_gpu(const ir::Program& program, const schedule::State& reference, const AffineCore& core,
                              const Machine& machine, const StrategyOptions& options) {
  std::vector<Core> nests;
  top_nests(core.root, nests);
  NestSchedule schedule;
  if (auto order = order_of_nests(reference, nests)) schedule.nests.push_back(std::move(*order));
  int number = 0;
  for (const Core& nest : nests) {
    std::vector<BandMember> shared;
    Core node = nest;
    while (const auto* band = std::get_if<Band>(&node->op)) {
      shared.insert(shared.end(), band->members.begin(), band->members.end());
      node = band->child;
    }
    const std::vector<const Cluster*> parts = clusters_of(node);
    const bool is_sum = parts.size() == 1 && parts[0]->update() != nullptr;
    std::optional<schedule::NestPlan> plan;
    if (is_sum && !options.affine_core_only && std::ranges::all_of(shared, &BandMember::coincident)) {
      const BlockNest sum{&program, &reference, &machine, parts[0], number};
      plan = plan_block_nest(sum);
      if (!plan) plan = plan_spread_nest(sum, options.keep_order);
    }
    if (!plan && !options.affine_core_only)
      plan = plan_row_nest({&program, &reference, &machine, shared, parts, number, options.keep_order});
    if (!plan)
      plan = plan_point_nest({&program, &reference, &machine, shared, parts, number, options.affine_core_only});
    schedule.nests.push_back(std::move(*plan));
    ++number;
  }
  return schedule;
}

}  // namespace polyte::poly
