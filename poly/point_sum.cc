#include "poly/point_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/loop_program.h"
#include "ir/relations.h"
#include "poly/point_nest.h"
#include "schedule/cost/gpu_price.h"
#include "schedule/cost/warp_access.h"

namespace polyte::poly {
namespace {

// Cycles that a thread takes per term: it waits for a load, and has few of them under way.
constexpr double kTermCycles = 120;

double iterations(const SumNest& nest, const std::vector<std::string>& loops) {
  double product = 1;
  for (const std::string& loop : loops) product *= static_cast<double>(nest.extent(loop));
  return product;
}

// Sectors that a warp reads per term, with its lanes along the loop for which these are fewest.
double fewest_sectors(const SumNest& nest, const std::vector<std::string>& loops) {
  double fewest = std::numeric_limits<double>::infinity();
  for (const std::string& loop : loops) {
    double sectors = 0;
    for (const ir::Load* load : ir::reads_of(nest.update()))
      sectors += schedule::sectors_a_warp(*nest.program, *load, loop, nest.extent(loop));
    fewest = std::min(fewest, sectors);
  }
  return fewest;
}

}  // namespace

std::optional<SumPlan> plan_point_sum(const SumNest& nest) {
  const ir::Statement& update = nest.update();
  const std::vector<std::string> free = ir::free_iterators(update);
  const double sectors = fewest_sectors(nest, free);
  if (sectors >= fewest_sectors(nest, update.reductions)) return std::nullopt;
  PointNest points{nest.program,   nest.reference, nest.machine, {},
                   {nest.cluster}, nest.number,    false,        nest.part};
  for (const std::string& loop : free) points.shared.push_back({loop, true});
  const Gpu& gpu = *nest.machine->gpu;
  const double warps = std::ceil(iterations(nest, free) / ir::kLanes),
               terms = iterations(nest, update.reductions);
  // Cycles by bytes: each warp reads its sectors for each term. Cycles by latency: a thread adds
  // its terms one after the other, in rounds where not all warps fit at once.
  const double memory =
      warps * terms * sectors * schedule::kSectorBytes / (gpu.memory_gb_a_second / gpu.clock_ghz);
  const double at_once =
      static_cast<double>(gpu.multiprocessors) * gpu.threads_a_multiprocessor / ir::kLanes;
  const double adding = terms * kTermCycles * std::ceil(warps / at_once);
  schedule::NestPlan plan = plan_point_nest(points);
  plan.tree_by = schedule::Provenance::TileModel;  // no order of isl
  return SumPlan{{std::move(plan)}, schedule::kLaunch + std::max(memory, adding)};
}

}  // namespace polyte::poly
