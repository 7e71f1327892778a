#include "schedule/traffic.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

// Bytes a cycle that a core draws from the next level, sustained.
constexpr double kUsableShare = 0.75;  // the rest is others' and badly placed lines
constexpr double kL2Rate = 24, kL3Rate = 8, kMemoryRate = 4;

class Footprints {
 public:
  Footprints(const NestAccesses& nest, const TileLoops& tile, const Machine& machine) : nest_(nest), tile_(tile) {
    const int line = machine.l1.line_bytes;
    std::vector<std::int64_t> points = tile.points;
    bytes_.resize(tile.order.size() + 1);
    occupied_.resize(tile.order.size() + 1);
    for (std::size_t depth = tile.order.size() + 1; depth-- > 0;) {
      if (depth < tile.order.size()) points[tile.order[depth]] = nest.loops[tile.order[depth]].extent;
      const auto add = [&](const NestAccess& access, double times) {
        const bool packed = tile.packed.contains(access.buffer);
        const double bytes = times * access.footprint(points, packed, line);
        bytes_[depth].push_back(bytes);
        occupied_[depth] += packed ? bytes : bytes * access.crowding(points, line);
      };
      for (const NestAccess& access : nest.all) add(access, 1);
      if (tile.blocked) add(nest.accumulator, 2);
    }
  }

  // Into a cache of so many bytes.
  double traffic(double capacity) const {
    std::size_t depth = tile_.order.size();
    while (depth > 0 && occupied_[depth - 1] <= capacity) --depth;
    const bool fits = occupied_[depth] <= capacity;
    double sum = 0;
    for (std::size_t a = 0; a < bytes_[depth].size(); ++a) sum += bytes_[depth][a] * fetches(a, depth, fits);
    return sum;
  }

 private:
  const NestAccesses& nest_;
  const TileLoops& tile_;
  std::vector<std::vector<double>> bytes_;  // by depth, by access; depth 0: everything
  std::vector<double> occupied_;            // by depth, of a cache

  const NestAccess& access(std::size_t a) const { return a < nest_.all.size() ? nest_.all[a] : nest_.accumulator; }

  // Iterations of the loops outside; those next to it leave what does not move with them where it is, if all fits.
  double fetches(std::size_t a, std::size_t depth, bool fits) const {
    double count = 1;
    bool waits = fits;
    while (depth-- > 0) {
      const std::size_t loop = tile_.order[depth];
      waits = waits && !access(a).moves_with(loop);
      if (!waits) count *= static_cast<double>(ceil_div(nest_.loops[loop].extent, tile_.points[loop]));
    }
    return count;
  }
};

}  // namespace

std::vector<double> traffic_cycles(const NestAccesses& nest, const TileLoops& tile, const Machine& machine) {
  const Footprints footprints(nest, tile, machine);
  const auto into = [&](const Cache& cache, double rate) {
    return footprints.traffic(static_cast<double>(cache.bytes) * kUsableShare) / rate;
  };
  return {into(machine.l1, kL2Rate), into(machine.l2, kL3Rate), into(machine.l3, kMemoryRate)};
}

}  // namespace polyte::schedule
