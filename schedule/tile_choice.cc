#include "schedule/tile_choice.h"

#include <algorithm>

#include "schedule/tile_candidates.h"
#include "schedule/traffic.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kUnhidden = 0.1;      // of what the less busy resources do
constexpr double kNoise = 0.995;       // what is cheaper by less is no better
constexpr double kWorthAnOrder = 1.6;  // times the cheapest pair: above, no order will help
constexpr std::size_t kMostOrdered = 4;
constexpr double kCopyCycles = 0.5;               // an element of a padded copy
constexpr double kCheapCopy = 0.1;                // of the steps that read it
constexpr double kPageWalk = 7, kNearPages = 64;  // a page beyond these is looked up in the second level

class TileChooser {
 public:
  TileChooser(const TileQuestion& question, const Machine& machine)
      : q_(question),
        machine_(machine),
        nest_(nest_accesses(*question.program, *question.main, question.others, question.loops)) {}

  TileChoice run() {
    const std::vector<TileCandidate> candidates = cheapest_tiles(q_, nest_, machine_);
    TileChoice best;
    best.cycles = -1;
    for (const TileCandidate& candidate : candidates) {
      if (candidate.together() > candidates.front().together() * kWorthAnOrder) continue;
      consider_orders(candidate, "", best);
      const std::string block = block_loop(candidate);
      if (!block.empty()) consider_orders(candidate, block, best);
    }
    return best;
  }

 private:
  const TileQuestion& q_;
  const Machine& machine_;
  NestAccesses nest_;

  std::size_t none() const { return nest_.loops.size(); }
  std::string name(std::size_t loop) const { return loop == none() ? "" : nest_.loops[loop].name; }
  std::int64_t extent(std::size_t loop) const { return loop == none() ? 1 : nest_.extent(name(loop)); }

  std::int64_t reduction_steps() const {
    std::int64_t product = 1;
    for (const PricedLoop& loop : nest_.loops)
      if (loop.reduction) product *= std::max<std::int64_t>(1, loop.extent);
    return product;
  }

  // One long reduction may be blocked, so that a panel stays in cache.
  std::string block_loop(const TileCandidate& candidate) const {
    if (q_.main->reductions.size() != 1 || candidate.at.lane == none() || candidate.at.row == none()) return "";
    if (nest_.accumulator.strides[candidate.at.lane] != 1) return "";  // what leaves the registers leaves in vectors
    return block_size(candidate) < reduction_steps() ? q_.main->reductions[0] : "";
  }
  std::int64_t block_size(const TileCandidate& candidate) const {
    const ContractionShape shape{extent(candidate.at.row), extent(candidate.at.lane), reduction_steps(), nest_.dtype};
    return choose_reduction_block(machine_, shape, candidate.tile);
  }

  std::int64_t points(std::size_t loop, const TileCandidate& candidate, const std::string& block) const {
    if (loop == candidate.at.lane)
      return std::min<std::int64_t>(extent(loop), std::int64_t{candidate.tile.vectors} * machine_.lanes(nest_.dtype));
    if (loop == candidate.at.row) return candidate.tile.rows;
    if (loop == candidate.at.outer_row) return candidate.tile.outer_rows;
    if (!nest_.loops[loop].reduction) return 1;
    return name(loop) == block ? block_size(candidate) : extent(loop);
  }

  // The loops around in isl's or the text's order, the tile's last; those of one iteration and the fixed ones apart.
  struct Around {
    std::vector<std::size_t> fixed, moving, single;
  };
  Around loops_around(const TileCandidate& candidate, const std::string& block) const {
    Around around;
    const auto place = [&](std::size_t loop) {
      const bool is_single = points(loop, candidate, block) >= extent(loop);
      if (is_single && nest_.loops[loop].reduction) return;
      (is_single ? around.single : around.moving).push_back(loop);
    };
    for (const std::string& loop : q_.fixed_order) {
      const std::size_t number = nest_.loop_number(loop);
      if (!candidate.at.tiles(number)) around.fixed.push_back(number);
    }
    for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
      const bool is_fixed = std::ranges::find(around.fixed, l) != around.fixed.end();
      if (!candidate.at.tiles(l) && !is_fixed) place(l);
    }
    for (const std::size_t loop : {candidate.at.lane, candidate.at.outer_row, candidate.at.row})
      if (loop != none()) place(loop);
    return around;
  }

  void consider_orders(const TileCandidate& candidate, const std::string& block, TileChoice& best) const {
    const Around around = loops_around(candidate, block);
    TileLoops tile;
    for (std::size_t l = 0; l < none(); ++l) tile.points.push_back(points(l, candidate, block));
    tile.packed = candidate.at.packed;
    tile.blocked = !block.empty();
    const double extra = candidate.copies + page_walks(candidate, tile);
    // Positions among those that move: the identity first, so that equals keep the order that was given.
    const std::size_t still = around.moving.size() - std::min(around.moving.size(), kMostOrdered);
    std::vector<std::size_t> positions;
    for (std::size_t i = still; i < around.moving.size(); ++i) positions.push_back(i);
    do {
      tile.order = around.fixed;
      tile.order.insert(tile.order.end(), around.moving.begin(),
                        around.moving.begin() + static_cast<std::ptrdiff_t>(still));
      for (const std::size_t i : positions) tile.order.push_back(around.moving[i]);
      tile.order.insert(tile.order.end(), around.single.begin(), around.single.end());
      if (runs_backwards(tile.order)) continue;
      const double cycles = price(candidate, tile, extra);
      if (best.cycles < 0 || cycles < best.cycles * kNoise) best = choice(candidate, block, tile, cycles);
    } while (std::ranges::next_permutation(positions).found);
  }

  // i of j <= i is outside: tiles of j are then cut at their ends, and begin where they begin. The other way round i
  // would begin inside a tile.
  bool runs_backwards(const std::vector<std::size_t>& order) const {
    for (const ir::Constraint& constraint : q_.main->domain) {
      if (constraint.equality) continue;
      bool upper = false;  // some loop further out is bounded above
      for (const std::size_t loop : order) {
        const std::int64_t factor = constraint.expr.coefficient(name(loop));
        if (factor > 0 && upper) return true;
        upper = upper || factor < 0;
      }
    }
    return false;
  }

  double price(const TileCandidate& candidate, const TileLoops& tile, double extra) const {
    double busiest = candidate.cycles, sum = candidate.cycles;
    for (const double cycles : traffic_cycles(nest_, tile, machine_)) {
      busiest = std::max(busiest, cycles);
      sum += cycles;
    }
    return busiest + kUnhidden * (sum - busiest) + extra;
  }

  // Of operands read in place whose neighbours along the tile lie on pages of their own.
  double page_walks(const TileCandidate& candidate, const TileLoops& tile) const {
    double tiles = 1;
    for (std::size_t l = 0; l < none(); ++l)
      tiles *= static_cast<double>(ceil_div(std::max<std::int64_t>(1, nest_.loops[l].extent), tile.points[l]));
    double walks = 0;
    for (const NestAccess& access : nest_.all) {
      if (!access.each_step || candidate.at.packed.contains(access.buffer)) continue;
      const double pages = access.pages(tile.points);
      if (pages > kNearPages) walks += pages;
    }
    return walks * kPageWalk * tiles * kUnhidden;
  }

  // A guard costs little where all lanes of a vector agree on it; then a copy must be cheap beside the steps.
  std::set<std::string> guards_in_place(const TileCandidate& candidate) const {
    std::set<std::string> buffers;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !access.load->otherwise || !access.each_step) continue;
      const bool disagree = std::ranges::any_of(access.load->guard, [&](const ir::Constraint& guard) {
        return candidate.at.lane != none() && guard.expr.uses(name(candidate.at.lane));
      });
      if (!disagree && access.elements() * kCopyCycles > candidate.cycles * kCheapCopy) buffers.insert(access.buffer);
    }
    return buffers;
  }

  TileChoice choice(const TileCandidate& candidate, const std::string& block, const TileLoops& tile,
                    double cycles) const {
    TileChoice result{name(candidate.at.lane),
                      name(candidate.at.row),
                      name(candidate.at.outer_row),
                      candidate.tile,
                      candidate.at.turned,
                      {},
                      candidate.at.packed,
                      guards_in_place(candidate),
                      block,
                      0,
                      cycles};
    if (!block.empty()) result.block_size = block_size(candidate);
    for (const std::size_t loop : tile.order) {
      const bool is_split = candidate.at.tiles(loop) || name(loop) == block;
      result.order.push_back(name(loop) + (is_split ? ".o" : ""));
    }
    return result;
  }
};

}  // namespace

TileChoice choose_tile(const TileQuestion& question, const Machine& machine) {
  return TileChooser(question, machine).run();
}

}  // namespace polyte::schedule
