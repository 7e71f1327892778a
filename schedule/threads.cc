#include "schedule/threads.h"

#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kRegionCycles = 10'000;  // work is handed over, and the last is waited for: assumed

}  // namespace

bool is_worth_threads(const Machine& machine, double cycles) {
  return machine.cores > 1 && cycles >= 2 * kRegionCycles;
}

std::string loop_for_threads(const Machine& machine, double cycles, std::span<const CountedLoop> loops) {
  if (!is_worth_threads(machine, cycles)) return "";
  std::string best;
  double least = cycles, regions = 1;
  for (const CountedLoop& loop : loops) {
    const std::int64_t rounds = ceil_div(loop.trips, machine.cores);
    const double time =
        cycles * static_cast<double>(rounds) / static_cast<double>(loop.trips) + regions * kRegionCycles;
    if (loop.coincident && time < least) {
      best = loop.name;
      least = time;
    }
    regions *= static_cast<double>(loop.trips);
  }
  return best;
}

}  // namespace polyte::schedule
