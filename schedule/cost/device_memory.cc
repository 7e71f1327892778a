#include "schedule/cost/device_memory.h"

#include <algorithm>
#include <cmath>

#include "schedule/cost/gpu_price.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kSecondCacheShare = 0.5;  // of one tensor: others pass through
constexpr double kClearlyFewer = 0.95;     // bytes that are worth another order

std::int64_t length(const NestAccesses& nest, const BlocksOfLaunch& blocks, std::size_t loop) {
  return ceil_div(std::max<std::int64_t>(1, nest.loops[loop].extent), blocks.tile[loop]);
}

bool has_room(const NestAccesses& nest, const BlocksOfLaunch& blocks) {
  return std::all_of(blocks.grid.begin(), blocks.grid.end() - 1,
                     [&](std::size_t loop) { return length(nest, blocks, loop) <= kLongestAxis; });
}

// How many different values of each loop of the grid the blocks have that run at once: they are
// numbered with the last loop fastest, so that it is filled first.
std::vector<double> places_at_once(const NestAccesses& nest, const BlocksOfLaunch& blocks,
                                   double all_at_once) {
  std::vector<double> places(nest.loops.size(), 1);
  for (auto loop = blocks.grid.rbegin(); loop != blocks.grid.rend(); ++loop) {
    const auto turns = static_cast<double>(length(nest, blocks, *loop));
    places[*loop] = std::min(all_at_once, turns);
    all_at_once = std::ceil(all_at_once / turns);
  }
  return places;
}

double blocks_of(const NestAccesses& nest, const BlocksOfLaunch& blocks) {
  double count = 1;
  for (const double places : places_at_once(nest, blocks, HUGE_VAL)) count *= places;
  return count;
}

}  // namespace

double device_memory_bytes(const NestAccesses& nest, const BlocksOfLaunch& blocks, const Gpu& gpu) {
  const double count = blocks_of(nest, blocks);
  const double at_once = std::min(count, gpu.multiprocessors * std::max(1.0, blocks.at_once));
  const std::vector<double> places = places_at_once(nest, blocks, at_once);
  const auto size_of = [](const NestAccess& access) {
    return access.elements() * static_cast<double>(access.element_bytes);
  };
  const auto stays = [&](double size) {
    return size <= kSecondCacheShare * static_cast<double>(gpu.l2_bytes);
  };
  double bytes = 0;
  const auto add_written = [&](const NestAccess& access) {
    bytes += stays(size_of(access)) ? 0 : size_of(access);
  };
  bool is_sum_kept = true;  // in memory: nothing else is written
  for (const NestAccess& access : nest.all) {
    if (access.load == nullptr) {
      if (access.each_step) continue;
      is_sum_kept = false;
      add_written(access);
      continue;
    }
    // Blocks that run at once and stand at the same place of all loops that move the operand read
    // one box of it, from the second cache but for the first. Per round of blocks there are as many
    // boxes as places along the loops that do move it.
    double boxes = count / at_once;  // of all turns
    for (std::size_t loop = 0; loop < places.size(); ++loop)
      if (access.moves_with(loop)) boxes *= places[loop];
    const double whole = size_of(access);
    const double read = boxes * std::min(whole, access.footprint(blocks.tile, true, kSectorBytes));
    bytes += stays(whole) ? std::min(read, whole) : read;
  }
  if (is_sum_kept) add_written(nest.accumulator);
  return bytes;
}

// Tries all orders of the sides' loops, as this decides which operand neighbouring blocks share. An
// order in which the grid's axes have room beats any in which they do not.
double order_grid(const NestAccesses& nest, BlocksOfLaunch& blocks, std::size_t sides,
                  const Gpu& gpu) {
  std::vector<std::size_t> best = blocks.grid;
  double least = device_memory_bytes(nest, blocks, gpu);
  bool fits = has_room(nest, blocks);
  const auto first = blocks.grid.end() - static_cast<std::ptrdiff_t>(sides);
  std::sort(first, blocks.grid.end());
  do {
    const double bytes = device_memory_bytes(nest, blocks, gpu);
    const bool has_room_now = has_room(nest, blocks);
    if (has_room_now < fits || (has_room_now == fits && bytes >= kClearlyFewer * least)) continue;
    least = bytes, fits = has_room_now, best = blocks.grid;
  } while (std::next_permutation(first, blocks.grid.end()));
  blocks.grid = std::move(best);
  return least;
}

double with_device_memory(double cycles, double bytes, const Gpu& gpu) {
  return busiest({cycles, bytes * gpu.clock_ghz / gpu.memory_gb_a_second});
}

}  // namespace polyte::schedule
