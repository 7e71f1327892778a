#include "schedule/cost/streams.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kTogether = 768;        // bytes: rows within are one stream
constexpr std::int64_t kGap = 32;              // and what leaves out less between them goes on
constexpr double kStart = 10, kNearStart = 2;  // cycles, from the third cache and the second
// A line from memory before prefetchers have found the stream, and how many these are.
constexpr double kLineFromMemory = 25, kLinesUntilFound = 8;

}  // namespace

// Follows the access through the loops from the innermost out: as long as each iteration goes on
// where the last one ended (`followed`), the streams grow longer; from the first loop that jumps
// on, each iteration starts them anew.
Streams streams_of(const NestAccess& access, const NestAccesses& nest, const TileLoops& tile,
                   bool followed) {
  std::vector<std::int64_t> points = tile.points;
  NestAccess::Runs runs = access.runs(points, kGap);
  std::int64_t elements = runs.elements;
  double starts = runs.count;
  for (auto loop = tile.order.rbegin(); loop != tile.order.rend(); ++loop) {
    const std::int64_t extent = std::max<std::int64_t>(1, nest.loops[*loop].extent);
    const std::int64_t trips = ceil_div(extent, points[*loop]);
    if (trips == 1) continue;
    followed = followed && access.moves_with(*loop) &&
               access.strides[*loop] * points[*loop] * access.element_bytes <=
                   elements * access.element_bytes + kGap;
    if (!followed) {
      starts *= static_cast<double>(trips);
      continue;
    }
    const std::int64_t step = access.strides[*loop] * points[*loop];
    points[*loop] = extent;
    const NestAccess::Runs longer = access.runs(points, kGap);
    if (longer.count == runs.count) {
      elements = longer.elements;
    } else if (longer.elements * access.element_bytes <= kTogether) {
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
