#include "schedule/cost/traffic.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

// Bytes a cycle that a core draws from the next level, sustained.
constexpr double kL2Rate = 24, kL3Rate = 16, kMemoryRate = 4;

// Cycles that a line of sums is waited for, from the second cache, the third and memory: what the
// other lines of its tile do not hide, with the page's entry.
constexpr double kL2Return = 2, kL3Return = 40, kMemoryReturn = 90;

class Footprints {
 public:
  Footprints(const NestAccesses& nest, const TileLoops& tile, const Machine& machine)
      : nest_(nest), tile_(tile) {
    line_ = machine.l1.line_bytes;
    std::vector<std::int64_t> points = tile.points;
    bytes_.resize(tile.order.size() + 1);
    occupied_.resize(tile.order.size() + 1);
    window_.resize(tile.order.size());
    for (std::size_t depth = tile.order.size() + 1; depth-- > 0;) {
      if (depth < tile.order.size()) {
        std::int64_t& inside = points[tile.order[depth]];
        const std::int64_t covered = covers(depth);
        inside = std::min(2 * inside, covered);
        window_[depth] = occupied(points);
        inside = covered;
      }
      occupied_[depth] = occupied(points);
      for_each_access([&](const NestAccess& access, double times) {
        bytes_[depth].push_back(
            times * access.footprint(points, tile_.packed.contains(access.buffer), line_));
      });
    }
  }

  // Bytes that come into a cache of this capacity. If even two iterations of the loop outside of
  // what fits have room, what these share stays, and the loop fetches what all of its iterations
  // touch together, once: rows of an image under a filter that slides down.
  double traffic(double capacity) const {
    double sum = 0;
    for (std::size_t a = 0; a < bytes_.front().size(); ++a) sum += traffic_of(a, capacity);
    return sum;
  }

  bool fits(double capacity) const { return occupied_.front() <= capacity; }

  // Bytes of sums that come back into registers, beyond the first time (read and written: half of
  // it).
  double returns(double capacity) const {
    const std::size_t sums = nest_.all.size();
    return tile_.blocked ? (traffic_of(sums, capacity) - bytes_.front()[sums]) / 2 : 0;
  }

 private:
  const NestAccesses& nest_;
  const TileLoops& tile_;
  std::int64_t line_ = 64;
  std::vector<std::vector<double>> bytes_;  // by depth, by access; depth 0: everything
  std::vector<double> occupied_;            // by depth, of a cache
  std::vector<double> window_;              // the same for two iterations of the loop at that depth

  std::int64_t block_of(std::size_t loop) const {
    return std::min(tile_.block_tiles * tile_.points[loop], nest_.loops[loop].extent);
  }
  // What all iterations of the loop at this depth come to: its extent, or a block's tiles.
  std::int64_t covers(std::size_t depth) const {
    const std::size_t loop = tile_.order[depth];
    const auto outside = tile_.order.begin() + static_cast<std::ptrdiff_t>(depth);
    const bool is_in_block = std::find(tile_.order.begin(), outside, loop) != outside;
    return is_in_block ? block_of(loop) : nest_.loops[loop].extent;
  }
  std::int64_t trips(std::size_t depth) const {
    const std::size_t loop = tile_.order[depth];
    const auto inside = tile_.order.begin() + static_cast<std::ptrdiff_t>(depth) + 1;
    const bool is_of_blocks = std::find(inside, tile_.order.end(), loop) != tile_.order.end();
    return ceil_div(covers(depth), is_of_blocks ? block_of(loop) : tile_.points[loop]);
  }

  double traffic_of(std::size_t a, double capacity) const {
    std::size_t depth = tile_.order.size();
    while (depth > 0 && occupied_[depth - 1] <= capacity) --depth;
    const bool fits = occupied_[depth] <= capacity;
    const bool slides = fits && depth > 0 && window_[depth - 1] <= capacity;
    if (!slides) return bytes_[depth][a] * fetches(a, depth, fits);
    return bytes_[depth - 1][a] *
           fetches(a, depth - 1, !access(a).moves_with(tile_.order[depth - 1]));
  }

  template <typename F>
  void for_each_access(const F& f) const {
    for (const NestAccess& access : nest_.all) f(access, 1);
    if (tile_.blocked) f(nest_.accumulator, 2);
  }

  double occupied(const std::vector<std::int64_t>& points) const {
    double bytes = 0;
    for_each_access([&](const NestAccess& access, double times) {
      const bool packed = tile_.packed.contains(access.buffer);
      bytes += times * access.footprint(points, packed, line_) *
               (packed ? 1 : access.crowding(points, line_));
    });
    return bytes;
  }

  const NestAccess& access(std::size_t a) const {
    return a < nest_.all.size() ? nest_.all[a] : nest_.accumulator;
  }

  // How many times the footprint at this depth is fetched: once per iteration of the loops outside,
  // but loops directly outside that do not move the access find it still there if it fits
  // (`waits`).
  double fetches(std::size_t a, std::size_t depth, bool waits) const {
    double count = 1;
    while (depth-- > 0) {
      waits = waits && !access(a).moves_with(tile_.order[depth]);
      if (!waits) count *= static_cast<double>(trips(depth));
    }
    return count;
  }
};

}  // namespace

double bytes_per_cycle(double bytes, const Machine& machine) {
  const auto fits = [&](const Cache& cache) {
    return bytes <= kUsableShare * static_cast<double>(cache.bytes);
  };
  return fits(machine.l2) ? kL2Rate : fits(machine.l3) ? kL3Rate : kMemoryRate;
}

std::vector<double> traffic_cycles(const NestAccesses& nest, const TileLoops& tile,
                                   const Machine& machine) {
  const Footprints footprints(nest, tile, machine);
  const auto capacity = [](const Cache& cache) {
    return static_cast<double>(cache.bytes) * kUsableShare;
  };
  const auto into = [&](const Cache& cache, double rate) {
    return footprints.fits(capacity(cache)) ? 0 : footprints.traffic(capacity(cache)) / rate;
  };
  return {into(machine.l1, kL2Rate), into(machine.l2, kL3Rate), into(machine.l3, kMemoryRate)};
}

double cycles_to_arrive(const NestAccesses& nest, const Machine& machine) {
  std::vector<std::int64_t> all;
  for (const PricedLoop& loop : nest.loops) all.push_back(std::max<std::int64_t>(1, loop.extent));
  double bytes = 0;
  for (const NestAccess& access : nest.all)
    bytes += access.footprint(all, false, machine.l1.line_bytes);
  return bytes / kMemoryRate;
}

double cycles_of_returns(const NestAccesses& nest, const TileLoops& tile, const Machine& machine) {
  if (!tile.blocked) return 0;
  const Footprints footprints(nest, tile, machine);
  const auto into = [&](const Cache& cache, double wait) {
    return footprints.returns(static_cast<double>(cache.bytes)) / machine.l1.line_bytes * wait;
  };
  return into(machine.l1, kL2Return) + into(machine.l2, kL3Return) +
         into(machine.l3, kMemoryReturn);
}

}  // namespace polyte::schedule
