#include "schedule/cost/threads.h"

#include "support/checked.h"

namespace polyte::schedule {
namespace {

// Work is handed over, and the last is waited for: assumed.
constexpr double kRegionCycles = 10'000;

constexpr double kNearly = 1.25;       // as good as the best
constexpr double kWorthFronts = 0.85;  // of the cycles of one core: memory is shared, too

}  // namespace

bool is_worth_threads(const Machine& machine, double cycles) {
  return machine.cores > 1 && cycles >= 2 * kRegionCycles;
}

std::string loop_for_threads(const Machine& machine, double cycles,
                             std::span<const CountedLoop> loops,
                             const std::set<std::string>& open) {
  if (!is_worth_threads(machine, cycles)) return "";
  std::string best, sure;
  double least = cycles, least_of_sure = cycles, regions = 1;
  const auto take = [&](const CountedLoop& loop, double time, std::string& name, double& lowest) {
    if (time >= lowest) return;
    name = loop.name;
    lowest = time;
  };
  for (const CountedLoop& loop : loops) {
    // cycles * ceil(trips / cores) / trips, and the region's cost each time that the loop is
    // entered.
    const std::int64_t rounds = ceil_div(loop.trips, machine.cores);
    const double time = cycles * static_cast<double>(rounds) / static_cast<double>(loop.trips) +
                        regions * kRegionCycles;
    if (loop.coincident) take(loop, time, best, least);
    if (loop.coincident && !open.contains(loop.iterator)) take(loop, time, sure, least_of_sure);
    regions *= static_cast<double>(loop.trips);
  }
  // A loop of open size may have one iteration only: one of known size is taken if it is nearly as
  // good.
  return least_of_sure <= kNearly * least ? sure : best;
}

// A front of n tiles takes n / cores rounds, and where that is no whole number the last one is not
// full: half of the cores wait for a tile in it, on average.
bool are_worth_threads(const Machine& machine, double cycles, const FrontsOfTiles& fronts) {
  if (!is_worth_threads(machine, cycles)) return false;
  const double cores = machine.cores, idle = fronts.fronts * (cores - 1) / 2;
  const double time =
      cycles / fronts.tiles * (fronts.tiles + idle) / cores + fronts.fronts * kRegionCycles;
  return time <= kWorthFronts * cycles;
}

NestPath path_of(std::span<const CountedLoop> loops, const std::string& parallel) {
  NestPath path;
  for (const CountedLoop& loop : loops)
    path.push_back({loop.name, loop.name == parallel ? LoopKind::Parallel : LoopKind::Serial});
  return path;
}

}  // namespace polyte::schedule
