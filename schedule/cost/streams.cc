#include "schedule/cost/streams.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kStart = 10, kNearStart = 2;  // cycles, from the third cache and the second
// A line from memory before prefetchers have found the stream, and how many these are.
constexpr double kLineFromMemory = 25, kLinesUntilFound = 8;

}  // namespace

// Follows the access through the loops from the innermost out: as long as each iteration goes on
// where the last one ended (`followed`), the streams grow longer; from the first loop that jumps
// on, each iteration starts them anew.
Streams streams_of(const NestAccess& access, const NestAccesses& nest, const TileLoops& tile,
                   bool followed, const StreamReach& reach) {
  std::vector<std::int64_t> points = tile.points, covered = tile.points;
  NestAccess::Runs runs = access.runs(points, reach.gap);
  std::int64_t elements = runs.elements;
  double starts = runs.count, live = runs.count;
  for (auto loop = tile.order.rbegin(); loop != tile.order.rend(); ++loop) {
    const bool is_in_block = std::find(loop + 1, tile.order.rend(), *loop) != tile.order.rend();
    std::int64_t extent = std::max<std::int64_t>(1, nest.loops[*loop].extent);
    if (is_in_block) extent = std::min(extent, tile.block_tiles * tile.points[*loop]);
    const std::int64_t trips = ceil_div(extent, covered[*loop]);
    const std::int64_t step = access.strides[*loop] * covered[*loop];
    covered[*loop] = std::max(covered[*loop], extent);
    if (trips <= 1) continue;
    const bool goes_on = followed && access.moves_with(*loop) &&
                         step * access.element_bytes <= elements * access.element_bytes + reach.gap;
    if (!goes_on) {
      starts *= static_cast<double>(trips);
      live *= static_cast<double>(trips);
      followed = followed && live <= reach.at_once;
      continue;
    }
    points[*loop] = extent;
    const NestAccess::Runs longer = access.runs(points, reach.gap);
    if (longer.count == runs.count) {
      elements = longer.elements;
    } else if (longer.elements * access.element_bytes <= reach.together) {
      starts *= longer.count / runs.count;
      elements = longer.elements;
    } else {
      elements += step * (trips - 1);
      followed = false;
    }
    runs = longer;
  }
  return {elements * access.element_bytes, starts};
}

double start_cycles(const Streams& streams, double bytes, const Machine& machine) {
  if (bytes < static_cast<double>(machine.l1.bytes)) return 0;
  if (bytes < static_cast<double>(machine.l2.bytes)) return streams.starts * kNearStart;
  if (bytes < static_cast<double>(machine.l3.bytes)) return streams.starts * kStart;
  const double lines =
      static_cast<double>(ceil_div(streams.bytes, std::int64_t{machine.l1.line_bytes}));
  return streams.bytes >= kPageBytes
             ? streams.starts * kStart
             : streams.starts * kLineFromMemory * std::min(lines, kLinesUntilFound);
}

}  // namespace polyte::schedule
