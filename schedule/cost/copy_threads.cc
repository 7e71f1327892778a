#include "schedule/cost/copy_threads.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {

std::vector<PlannedStep> copy_by_threads(const std::string& statement, const std::vector<CopyLoop>& loops,
                                         std::int64_t threads) {
  std::vector<PlannedStep> steps;
  std::size_t first = loops.size();  // of the loops whose iterations are all threads
  std::int64_t inner = 1;
  while (first > 0 && inner * loops[first - 1].extent <= threads) inner *= loops[--first].extent;
  std::vector<std::string> of_threads;
  for (std::size_t i = first; i < loops.size(); ++i) of_threads.push_back(loops[i].name);
  if (const std::int64_t most = threads / inner; first > 0 && most > 1) {
    const CopyLoop& cut = loops[first - 1];
    const std::int64_t size = ceil_div(cut.extent, ceil_div(cut.extent, most));
    steps.emplace_back(PlannedSplit{statement, cut.name, Elements{size}, Provenance::TileModel, true});
    of_threads.insert(of_threads.begin(), within_tile(cut.name));
  }
  std::string thread = of_threads.front();
  if (of_threads.size() > 1) {
    thread = "e";
    while (std::ranges::find(loops, thread, &CopyLoop::name) != loops.end()) thread += "_";
    steps.emplace_back(PlannedFuse{statement, of_threads, thread});
  }
  steps.emplace_back(PlannedBind{statement, thread, LoopKind::Thread});
  return steps;
}

}  // namespace polyte::schedule
