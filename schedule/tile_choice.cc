#include "schedule/tile_choice.h"

#include <algorithm>

#include "ir/contraction.h"
#include "schedule/lanes.h"
#include "schedule/operand_staging.h"
#include "schedule/step_cost.h"
#include "schedule/traffic.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kUnhidden = 0.1;      // of what the less busy resources do
constexpr double kNoise = 0.995;       // what is cheaper by less is no better
constexpr double kWorthAnOrder = 1.6;  // times the cheapest pair: above, no order will help
constexpr std::size_t kMostCandidates = 40, kMostHeights = 2, kMostOrdered = 4;
// An element into a panel: along the lanes, across, across where the lanes' lines fall into few sets of the cache.
constexpr double kCopyCycles = 0.5, kTurnCycles = 1, kCrowdedTurnCycles = 5;
constexpr double kPanelCycles = 200;              // to begin with
constexpr double kCheapCopy = 0.1;                // of the steps that read it
constexpr double kPageWalk = 7, kNearPages = 64;  // a page beyond these is looked up in the second level

struct Candidate {
  TileLoopPair pair;
  RegisterTile tile;
  double cycles = 0;  // of the steps
  double copies = 0;  // of the panels, before them
  double together() const { return cycles + copies; }
};

class TileChooser {
 public:
  TileChooser(const TileQuestion& question, const Machine& machine)
      : q_(question),
        machine_(machine),
        nest_(nest_accesses(*question.program, *question.main, question.others, question.loops)),
        steps_(nest_, *question.main, machine) {}

  TileChoice run() {
    std::vector<Candidate> candidates = cheapest_steps();
    TileChoice best;
    best.cycles = -1;
    for (const Candidate& candidate : candidates) {
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
  StepCost steps_;

  std::size_t none() const { return nest_.loops.size(); }
  std::string name(std::size_t loop) const { return loop == none() ? "" : nest_.loops[loop].name; }
  std::int64_t extent(std::size_t loop) const { return loop == none() ? 1 : nest_.extent(name(loop)); }

  // A result that leaves the registers as it is wants neighbours in its lanes; one that an epilogue takes up may lie
  // across memory.
  bool suits_lanes(const std::string& loop) const {
    const auto carries = [&](const ir::Statement* s) { return can_carry_lanes(*q_.program, *s, loop); };
    if (!carries(q_.main) || !std::ranges::all_of(q_.others, carries)) return false;
    const std::int64_t stride = ir::stride_of(*q_.program, q_.main->writes[0], loop).value_or(0);
    const bool is_kept = q_.program->buffer(q_.main->writes[0].buffer).role == ir::Role::Temp;
    return is_kept ? stride != 0 : stride == 1;
  }

  std::int64_t reduction_steps() const {
    std::int64_t product = 1;
    for (const NestLoop& loop : nest_.loops)
      if (loop.reduction) product *= std::max<std::int64_t>(1, loop.extent);
    return product;
  }

  // Elements put together one by one are no gain where they do not fill a vector.
  bool gathers_few(std::size_t lane, const std::set<std::string>& packed) const {
    if (lane == none() || extent(lane) >= machine_.lanes(nest_.dtype)) return false;
    return std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
      return access.each_step && access.load && access.strides[lane] > 1 && !packed.contains(access.buffer);
    });
  }

  bool is_read_once(const NestAccess& access) const {
    return std::ranges::count_if(nest_.all, [&](const NestAccess& other) {
             return other.load && other.each_step && other.buffer == access.buffer;
           }) == 1;
  }

  // Every choice of what lies in panels: constants always do.
  std::vector<std::set<std::string>> panel_choices(std::size_t lane, std::size_t row) const {
    std::vector<std::set<std::string>> choices{{}};
    if (lane == none() || q_.main->reductions.empty()) return choices;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !access.each_step || !is_read_once(access)) continue;
      if (!can_pack(*q_.program, *q_.main, *access.load, name(lane), name(row))) continue;
      const bool is_free = q_.program->buffer(access.buffer).role == ir::Role::Const;
      const std::size_t count = choices.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_free) choices.push_back(choices[i]);
        choices[i].insert(access.buffer);
      }
    }
    return choices;
  }

  // The best heights of each width: panels of other widths meet the caches differently.
  void add_tiles(const TileLoopPair& pair, std::vector<Candidate>& all) const {
    const int budget = machine_.vector_registers - 2;
    for (int vectors : {2, 1, 3, 4}) {
      if (vectors > steps_.lane_vectors(pair.lane)) continue;
      std::vector<Candidate> tiles;
      const std::int64_t most = std::min<std::int64_t>(extent(pair.row), (budget - vectors) / vectors);
      for (std::int64_t r = most; r >= 1; --r) {
        const RegisterTile tile{static_cast<int>(r), vectors};
        tiles.push_back({pair, tile, steps_.cycles(pair, tile), panel_cycles(pair, tile)});
      }
      std::ranges::stable_sort(tiles, {}, &Candidate::together);
      tiles.resize(std::min(tiles.size(), kMostHeights));
      all.insert(all.end(), tiles.begin(), tiles.end());
    }
  }

  std::vector<Candidate> cheapest_steps() const {
    std::vector<std::size_t> lanes{none()}, rows{none()};
    for (const std::string& loop : q_.candidates) {
      if (nest_.extent(loop) < 2) continue;
      rows.push_back(nest_.loop_number(loop));
      if (suits_lanes(loop)) lanes.push_back(nest_.loop_number(loop));
    }
    std::vector<Candidate> all;
    for (const std::size_t lane : lanes)
      for (const std::size_t row : rows)
        if (row != lane || row == none())
          for (const std::set<std::string>& packed : panel_choices(lane, row))
            if (!gathers_few(lane, packed)) add_tiles({lane, row, packed, false}, all);
    for (const std::string& loop : q_.turned) {
      const TileLoopPair pair{nest_.loop_number(loop), none(), {}, true};
      all.push_back({pair, {1, 1}, steps_.cycles(pair, {1, 1}), 0});
    }
    std::ranges::stable_sort(all, {}, &Candidate::together);
    all.resize(std::min(all.size(), kMostCandidates));
    return all;
  }

  // One long reduction may be blocked, so that a panel stays in cache.
  std::string block_loop(const Candidate& candidate) const {
    if (q_.main->reductions.size() != 1 || candidate.pair.lane == none() || candidate.pair.row == none()) return "";
    if (nest_.accumulator.strides[candidate.pair.lane] != 1) return "";  // what leaves the registers leaves in vectors
    return block_size(candidate) < reduction_steps() ? q_.main->reductions[0] : "";
  }
  std::int64_t block_size(const Candidate& candidate) const {
    const ContractionShape shape{extent(candidate.pair.row), extent(candidate.pair.lane), reduction_steps(),
                                 nest_.dtype};
    return choose_reduction_block(machine_, shape, candidate.tile);
  }

  std::int64_t points(std::size_t loop, const Candidate& candidate, const std::string& block) const {
    if (loop == candidate.pair.lane)
      return std::min<std::int64_t>(extent(loop), std::int64_t{candidate.tile.vectors} * machine_.lanes(nest_.dtype));
    if (loop == candidate.pair.row) return candidate.tile.rows;
    if (!nest_.loops[loop].reduction) return 1;
    return name(loop) == block ? block_size(candidate) : extent(loop);
  }

  // The loops around in isl's or the text's order, the tile's last; those of one iteration and the fixed ones apart.
  struct Around {
    std::vector<std::size_t> fixed, moving, single;
  };
  Around loops_around(const Candidate& candidate, const std::string& block) const {
    Around around;
    const auto place = [&](std::size_t loop) {
      const bool is_single = points(loop, candidate, block) >= extent(loop);
      const bool is_tiled = loop == candidate.pair.lane || loop == candidate.pair.row;
      if (is_single && !is_tiled && nest_.loops[loop].reduction) return;
      (is_single ? around.single : around.moving).push_back(loop);
    };
    for (const std::string& loop : q_.fixed_order) {
      const std::size_t number = nest_.loop_number(loop);
      if (number != candidate.pair.lane && number != candidate.pair.row) around.fixed.push_back(number);
    }
    for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
      const bool is_fixed = std::ranges::find(around.fixed, l) != around.fixed.end();
      if (l != candidate.pair.lane && l != candidate.pair.row && !is_fixed) place(l);
    }
    for (const std::size_t loop : {candidate.pair.lane, candidate.pair.row})
      if (loop != none()) place(loop);
    return around;
  }

  void consider_orders(const Candidate& candidate, const std::string& block, TileChoice& best) const {
    const Around around = loops_around(candidate, block);
    TileLoops tile;
    for (std::size_t l = 0; l < none(); ++l) tile.points.push_back(points(l, candidate, block));
    tile.packed = candidate.pair.packed;
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
      const double cycles = price(candidate, tile, extra);
      if (best.cycles < 0 || cycles < best.cycles * kNoise) best = choice(candidate, block, tile, cycles);
    } while (std::ranges::next_permutation(positions).found);
  }

  double price(const Candidate& candidate, const TileLoops& tile, double extra) const {
    double busiest = candidate.cycles, sum = candidate.cycles;
    for (const double cycles : traffic_cycles(nest_, tile, machine_)) {
      busiest = std::max(busiest, cycles);
      sum += cycles;
    }
    return busiest + kUnhidden * (sum - busiest) + extra;
  }

  static double elements_of(const NestAccess& access) {
    double elements = 1;
    for (const std::int64_t size : access.shape) elements *= static_cast<double>(size);
    return elements;
  }

  double copy_cycles(const NestAccess& access, const TileLoopPair& pair, const RegisterTile& tile) const {
    const std::size_t panel = access.moves_with(pair.lane) ? pair.lane : pair.row;
    const int size = panel == pair.row ? tile.rows : tile.vectors * machine_.lanes(nest_.dtype);
    if (access.strides[panel] <= 1) return kCopyCycles;
    const bool crowded = conflicts_in_cache(machine_, access.strides[panel] * access.element_bytes, size);
    return crowded ? kCrowdedTurnCycles : kTurnCycles;
  }

  double panel_cycles(const TileLoopPair& pair, const RegisterTile& tile) const {
    double cycles = 0;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !pair.packed.contains(access.buffer)) continue;
      if (q_.program->buffer(access.buffer).role == ir::Role::Const) continue;
      cycles += elements_of(access) * copy_cycles(access, pair, tile) + kPanelCycles;
    }
    return cycles;
  }

  // Of operands read in place whose neighbours along the tile lie on pages of their own.
  double page_walks(const Candidate& candidate, const TileLoops& tile) const {
    double tiles = 1;
    for (std::size_t l = 0; l < none(); ++l)
      tiles *= static_cast<double>(ceil_div(std::max<std::int64_t>(1, nest_.loops[l].extent), tile.points[l]));
    double walks = 0;
    for (const NestAccess& access : nest_.all) {
      if (!access.each_step || candidate.pair.packed.contains(access.buffer)) continue;
      const double runs = access.far_runs(tile.points);
      if (runs > kNearPages) walks += runs;
    }
    return walks * kPageWalk * tiles * kUnhidden;
  }

  // A guard costs little where all lanes of a vector agree on it; then a copy must be cheap beside the steps.
  std::set<std::string> guards_in_place(const Candidate& candidate) const {
    std::set<std::string> buffers;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !access.load->otherwise || !access.each_step) continue;
      const bool disagree = std::ranges::any_of(access.load->guard, [&](const ir::Constraint& guard) {
        return candidate.pair.lane != none() && guard.expr.uses(name(candidate.pair.lane));
      });
      if (!disagree && elements_of(access) * kCopyCycles > candidate.cycles * kCheapCopy) buffers.insert(access.buffer);
    }
    return buffers;
  }

  TileChoice choice(const Candidate& candidate, const std::string& block, const TileLoops& tile, double cycles) const {
    TileChoice result{name(candidate.pair.lane),
                      name(candidate.pair.row),
                      candidate.tile,
                      candidate.pair.turned,
                      {},
                      candidate.pair.packed,
                      guards_in_place(candidate),
                      block,
                      0,
                      cycles};
    if (!block.empty()) result.block_size = block_size(candidate);
    for (const std::size_t loop : tile.order) {
      const bool is_split = loop == candidate.pair.lane || loop == candidate.pair.row || name(loop) == block;
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
