#include "schedule/cost/tile_choice.h"

#include <algorithm>

#include "schedule/cost/reduction_blocks.h"
#include "schedule/cost/short_steps.h"
#include "schedule/cost/threads.h"
#include "schedule/cost/tile_ahead.h"
#include "schedule/cost/tile_candidates.h"
#include "schedule/cost/tile_waits.h"
#include "schedule/cost/traffic.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kNoise = 0.995;       // what is cheaper by less is no better
constexpr double kEqual = 0.99999;     // a sum costs the same: fewer streams then
constexpr double kWorthAnOrder = 1.6;  // times the cheapest pair: above, no order will help
constexpr std::size_t kMostOrdered = 4;
// Times the cheapest tile, for one of which threads get a part each.
constexpr double kWorthSharing = 1.2;
constexpr double kPaddedCopyCycles = 0.5;  // an element of a padded copy
constexpr double kCheapCopy = 0.1;         // of the steps that read it
constexpr double kOfOpenSize = 1.25;       // a run may have a part of the tile, or one row
// Times the cheapest steps: where the best order comes to more, tiles in blocks are tried.
constexpr double kWaitsForData = 1.1;
constexpr double kMoreLoops = 1.03;            // what these cost that is not priced
constexpr double kSharesOfL2[] = {0.25, 0.5};  // that a block of tiles may take

class TileChooser {
 public:
  TileChooser(const TileQuestion& question, const Machine& machine)
      : q_(question),
        machine_(machine),
        nest_(nest_accesses(*question.program, *question.main, question.others, question.loops)),
        waits_(nest_, *question.main, machine),
        blocks_(q_, nest_, machine) {}

  TileChoice run() const {
    const std::vector<TileCandidate> candidates = cheapest_tiles(q_, nest_, machine_);
    Best best;
    best.cycles = -1;
    for (const TileCandidate& candidate : candidates) {
      if (candidate.together() > candidates.front().together() * kWorthAnOrder) continue;
      if (q_.form && q_.form->has_lane_blocks()) {
        consider_blocks_of_tiles(candidate, best);
        continue;
      }
      if (!q_.form || !q_.form->has("block")) consider_orders(candidate, {}, best);
      if (q_.form && !q_.form->has("block")) continue;
      if (q_.main->reductions.size() == 1) consider_blocks(candidate, best);
    }
    if (!q_.form && !candidates.empty() &&
        best.cycles > candidates.front().together() * kWaitsForData)
      for (const TileCandidate& candidate : candidates) {
        if (candidate.together() >= best.cycles) continue;
        if (q_.main->reductions.size() == 1)
          consider_blocks_of_tiles(candidate, best);
        else
          consider_blocks(candidate, best);
      }
    if (best.cycles >= 0) best.cycles = std::max(best.cycles, cycles_to_arrive(nest_, machine_));
    return best;
  }

  // Some loop around the tile has iterations that threads may share.
  bool leaves_iterations(const TileChoice& choice) const {
    return std::ranges::any_of(q_.candidates, [&](const std::string& loop) {
      const std::int64_t points = loop == choice.lane
                                      ? choice.tile.vectors * machine_.lanes(nest_.dtype)
                                  : loop == choice.row       ? choice.tile.rows
                                  : loop == choice.outer_row ? choice.tile.outer_rows
                                                             : 1;
      return nest_.extent(loop) > points;
    });
  }

 private:
  const TileQuestion& q_;
  const Machine& machine_;
  NestAccesses nest_;
  TileWaits waits_;
  ReductionBlocks blocks_;

  std::size_t none() const { return nest_.loops.size(); }
  std::string name(std::size_t loop) const { return loop == none() ? "" : nest_.loops[loop].name; }
  std::int64_t extent(std::size_t loop) const {
    return loop == none() ? 1 : nest_.extent(name(loop));
  }

  struct Best : TileChoice {
    std::pair<double, double> streams;
    bool is_near = false;  // its order goes on along the lanes
  };

  // The loops around in isl's or the text's order, the tile's last; those of one iteration and
  // the fixed ones apart.
  struct Around {
    std::vector<std::size_t> fixed, moving, single;
  };
  Around loops_around(const TileCandidate& candidate, const ReductionBlock& block) const {
    Around around;
    const std::vector<std::int64_t> points = tile_points(nest_, candidate, block, machine_);
    const auto place = [&](std::size_t loop) {
      const bool is_single = points[loop] >= extent(loop);
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

  // The role of a loop outside the tile, by which operands it moves: those along the lanes
  // (lane_free), those along the rows (row_free), or both (batch).
  std::string side_of(std::size_t loop, const TileCandidate& candidate) const {
    bool with_lanes = false, with_rows = false;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !access.each_step || !access.moves_with(loop)) continue;
      const bool along_lanes = candidate.at.lane != none() && access.moves_with(candidate.at.lane);
      const bool along_rows =
          candidate.at.row == none() ? !along_lanes : access.moves_with(candidate.at.row);
      if (along_lanes != along_rows) (along_lanes ? with_lanes : with_rows) = true;
    }
    return with_lanes == with_rows ? "batch" : with_lanes ? "lane_free" : "row_free";
  }

  // The order of a template, with the loops that this tile has.
  std::vector<std::size_t> order_of(const TileForm& form, const TileCandidate& candidate,
                                    const ReductionBlock& block) const {
    std::vector<std::size_t> order;
    const auto add = [&](std::size_t loop) {
      if (loop != none()) order.push_back(loop);
    };
    for (const std::string& role : form.order) {
      if (role == "lane" || role == "lane_blocks") add(candidate.at.lane);
      if (role == "row") add(candidate.at.row);
      if (role == "block" && !block.loop.empty()) add(nest_.loop_number(block.loop));
      for (std::size_t l = 0; l < none(); ++l) {
        if (l == candidate.at.lane || l == candidate.at.row || nest_.loops[l].reduction) continue;
        if (role == "free" || role == side_of(l, candidate)) add(l);
      }
    }
    return order;
  }

  void consider_blocks(const TileCandidate& candidate, Best& best) const {
    for (const ReductionBlock& block : blocks_.worth_pricing(candidate))
      consider_orders(candidate, block, best);
  }

  // Tiles of the lanes or of the rows in blocks: what a block's operand takes stays in the second
  // cache, while the tiles of the other side pass by (Goto, van de Geijn, *Anatomy of
  // high-performance matrix multiplication*).
  void consider_blocks_of_tiles(const TileCandidate& candidate, Best& best) const {
    if (!shares_operands(candidate)) return;
    const bool has_blocks = !q_.form || q_.form->has("block");
    std::vector<ReductionBlock> all;
    if (has_blocks) all = blocks_.worth_pricing(candidate);
    if (q_.form && has_blocks && all.empty()) return;
    if (all.empty()) all.emplace_back();
    if (!q_.form && q_.main->reductions.size() == 1 &&
        nest_.accumulator.strides[candidate.at.lane] == 1)
      for (ReductionBlock& block : blocks_.in_l1(candidate)) all.push_back(std::move(block));
    for (const ReductionBlock& block : all)
      for (const std::size_t loop : {candidate.at.row, candidate.at.lane})
        for (const double share : kSharesOfL2) {
          const auto tiles = static_cast<std::int64_t>(
              share * static_cast<double>(machine_.l2.bytes) / bytes_along(loop, candidate, block));
          const std::int64_t trips =
              ceil_div(extent(loop), tile_points(nest_, candidate, block, machine_)[loop]);
          const bool is_asked_for = !q_.form || loop == candidate.at.lane;
          if (is_asked_for && tiles >= 2 && 2 * tiles <= trips)
            consider_orders(candidate, block, {loop, tiles}, best);
        }
  }

  // Rows and lanes have an operand each, which the other leaves still.
  bool shares_operands(const TileCandidate& candidate) const {
    const std::size_t row = candidate.at.row, lane = candidate.at.lane;
    if (row == none() || lane == none() || candidate.at.turned) return false;
    const auto moves_one = [&](std::size_t loop, std::size_t other) {
      return std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
        return access.each_step && access.moves_with(loop) && !access.moves_with(other);
      });
    };
    return moves_one(row, lane) && moves_one(lane, row);
  }

  // Bytes that one tile reads of the operands that this loop moves.
  double bytes_along(std::size_t loop, const TileCandidate& candidate,
                     const ReductionBlock& block) const {
    const std::vector<std::int64_t> all = tile_points(nest_, candidate, block, machine_);
    double bytes = 0;
    for (const NestAccess& access : nest_.all)
      if (access.each_step && access.moves_with(loop))
        bytes += access.footprint(all, candidate.at.packed.contains(access.buffer),
                                  machine_.l1.line_bytes);
    return std::max(bytes, 1.0);
  }

  struct TilesInBlocks {
    std::size_t loop;
    std::int64_t tiles = 0;  // of a block; 0: no blocks
  };

  void consider_orders(const TileCandidate& candidate, const ReductionBlock& block,
                       Best& best) const {
    consider_orders(candidate, block, {none()}, best);
  }

  void consider_orders(const TileCandidate& candidate, const ReductionBlock& block,
                       const TilesInBlocks& in_blocks, Best& best) const {
    TileLoops tile;
    tile.block_tiles = in_blocks.tiles;
    tile.points = tile_points(nest_, candidate, block, machine_);
    tile.packed = candidate.at.packed;
    tile.blocked = !block.loop.empty();
    const double extra = candidate.copies + waits_.page_walks(candidate, tile) +
                         waits_.block_ends(candidate, blocks_.steps_of(block));
    const auto returns = [&] {
      return goes_on_along(tile, candidate.at.lane) ? 0 : cycles_of_returns(nest_, tile, machine_);
    };
    bool is_best = false;  // this tile
    const auto consider = [&] {
      if (runs_backwards(tile.order) || ends_with(tile, block)) return;
      const double cycles =
          price(candidate, tile, extra + waits_.run_starts(candidate, tile) + returns()) *
          (in_blocks.tiles > 0 ? kMoreLoops : 1);
      const bool is_sum = !q_.main->reductions.empty(), is_first = best.cycles < 0;
      const bool is_near = streams_by(candidate) && goes_on_along(tile, candidate.at.lane);
      const double noise = is_sum ? kEqual : kNoise;
      if (!is_first && cycles * noise >= best.cycles) return;
      const std::pair<double, double> streams = waits_.streams(tile);
      const bool goes_before =
          is_sum ? streams < best.streams : is_best && is_near && !best.is_near;
      if (!is_first && cycles >= best.cycles * noise && !goes_before) return;
      best = {choice(candidate, block, tile, cycles), streams, is_near};
      is_best = true;
    };
    if (q_.form) {
      tile.order = order_of(*q_.form, candidate, block);
      return consider();
    }
    const Around around = loops_around(candidate, block);
    if (in_blocks.tiles > 0) {
      for (std::vector<std::size_t>& order :
           orders_of_blocks(candidate, block, in_blocks, around)) {
        tile.order = std::move(order);
        consider();
      }
      return;
    }
    // Positions among those that move: the identity first, so that equals keep the order that
    // was given.
    const std::size_t still = around.moving.size() - std::min(around.moving.size(), kMostOrdered);
    std::vector<std::size_t> positions;
    for (std::size_t i = still; i < around.moving.size(); ++i) positions.push_back(i);
    do {
      tile.order = around.fixed;
      tile.order.insert(tile.order.end(), around.moving.begin(),
                        around.moving.begin() + static_cast<std::ptrdiff_t>(still));
      for (const std::size_t i : positions) tile.order.push_back(around.moving[i]);
      tile.order.insert(tile.order.end(), around.single.begin(), around.single.end());
      consider();
    } while (std::ranges::next_permutation(positions).found);
  }

  // Loops that neither side of the tile has stay outermost. Of the others, blocks of steps are
  // outside those of tiles, within them, or within the other side's tiles.
  std::vector<std::vector<std::size_t>> orders_of_blocks(const TileCandidate& candidate,
                                                         const ReductionBlock& block,
                                                         const TilesInBlocks& in_blocks,
                                                         const Around& around) const {
    const std::size_t tiles = in_blocks.loop,
                      other = tiles == candidate.at.lane ? candidate.at.row : candidate.at.lane;
    std::vector<std::size_t> outside = around.fixed, steps;
    for (const std::size_t loop : around.moving)
      if (loop != tiles && loop != other)
        (name(loop) == block.loop ? steps : outside).push_back(loop);
    std::vector<std::vector<std::size_t>> orders;
    const std::vector<std::size_t> inside = {tiles, other, tiles};
    for (std::size_t place = 0; place < (steps.empty() ? 1 : inside.size()); ++place) {
      std::vector<std::size_t> order = outside;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        if (i == place) order.insert(order.end(), steps.begin(), steps.end());
        order.push_back(inside[i]);
      }
      std::ranges::copy_if(around.single, std::back_inserter(order), [&](std::size_t loop) {
        return loop != other;  // its only tile is within the blocks
      });
      orders.push_back(std::move(order));
    }
    return orders;
  }

  // A window of few taps, of what the lanes move along: what they leave still would rather wait in
  // cache.
  bool streams_by(const TileCandidate& candidate) const {
    return candidate.at.lane != none() && nest_.reduction_steps() <= kWindowSteps &&
           std::ranges::none_of(nest_.all, [&](const NestAccess& access) {
             return access.each_step && !access.moves_with(candidate.at.lane) &&
                    access.bytes() >= static_cast<double>(machine_.l1.bytes);
           });
  }

  // The innermost loop that has several iterations is the lanes'.
  bool goes_on_along(const TileLoops& tile, std::size_t lane) const {
    const auto inmost =
        std::ranges::find_if(tile.order.rbegin(), tile.order.rend(),
                             [&](std::size_t loop) { return extent(loop) > tile.points[loop]; });
    return inmost == tile.order.rend() || *inmost == lane;
  }

  // Blocks of a reduction that follow each other: the sums leave the registers for nothing.
  bool ends_with(const TileLoops& tile, const ReductionBlock& block) const {
    return !q_.form && !block.loop.empty() && tile.order.size() > 1 &&
           tile.order.back() == nest_.loop_number(block.loop);
  }

  // Whether a loop inside has a lower bound that uses a loop outside. With j <= i and i outside,
  // tiles of j are cut at their ends; with j outside, i would begin in the middle of a tile.
  bool runs_backwards(const std::vector<std::size_t>& order) const {
    for (const ir::Constraint& constraint : q_.main->domain) {
      if (constraint.equality) continue;
      bool upper = false;  // some loop further out is bounded above
      for (auto loop = order.begin(); loop != order.end(); ++loop) {
        // Within a block of its tiles it goes on where that begins.
        if (std::find(order.begin(), loop, *loop) != loop) continue;
        const std::int64_t factor = constraint.expr.coefficient(name(*loop));
        if (factor > 0 && upper) return true;
        upper = upper || factor < 0;
      }
    }
    return false;
  }

  // The busiest resource, and of the others what it does not hide.
  double price(const TileCandidate& candidate, const TileLoops& tile, double extra) const {
    std::vector<double> busy = traffic_cycles(nest_, tile, machine_);
    busy.back() += waits_.result_starts(tile);
    double busiest = (1 - kUnhidden) * candidate.cycles, others = kUnhidden * candidate.cycles;
    for (std::size_t level = 0; level < busy.size(); ++level) {
      const double unhidden = level == 0 ? kUnhiddenNear : kUnhidden;
      busiest = std::max(busiest, (1 - unhidden) * busy[level]);
      others += unhidden * busy[level];
    }
    return (busiest + others + extra) * (is_open(candidate) ? kOfOpenSize : 1);
  }

  bool is_open(const TileCandidate& candidate) const {
    return std::ranges::any_of(q_.program->open, [&](const std::string& iterator) {
      const std::size_t loop = nest_.loop_number(iterator);
      return loop != none() && candidate.at.tiles(loop);
    });
  }

  // A guard costs little where all lanes of a vector agree on it; then a copy must be cheap beside
  // the steps.
  std::set<std::string> guards_in_place(const TileCandidate& candidate) const {
    std::set<std::string> buffers;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !access.load->otherwise || !access.each_step) continue;
      const bool disagree =
          std::ranges::any_of(access.load->guard, [&](const ir::Constraint& guard) {
            return candidate.at.lane != none() && guard.expr.uses(name(candidate.at.lane));
          });
      if (!disagree && access.elements() * kPaddedCopyCycles > candidate.cycles * kCheapCopy)
        buffers.insert(access.buffer);
    }
    return buffers;
  }

  TileChoice choice(const TileCandidate& candidate, const ReductionBlock& block,
                    const TileLoops& tile, double cycles) const {
    TileChoice result{.lane = name(candidate.at.lane),
                      .row = name(candidate.at.row),
                      .outer_row = name(candidate.at.outer_row),
                      .tile = candidate.tile,
                      .turned = candidate.at.turned,
                      .packed = candidate.at.packed,
                      .in_place = guards_in_place(candidate),
                      .block = block.loop,
                      .block_size = block.size,
                      .cycles = cycles};
    result.written_out = short_steps(q_, result);
    std::vector<std::size_t> moving = tile.order;
    std::erase_if(moving, [&](std::size_t l) { return tile.points[l] >= extent(l); });
    result.goes_by_lines = !block.loop.empty() &&
                           moving == std::vector{nest_.loop_number(block.loop), candidate.at.lane};
    const auto around = [&](std::size_t loop) {
      const bool is_split = candidate.at.tiles(loop) || name(loop) == block.loop;
      return is_split ? tiles_of(name(loop)) : name(loop);
    };
    for (auto at = tile.order.begin(); at != tile.order.end(); ++at) {
      std::string loop = around(*at);
      if (std::find(at + 1, tile.order.end(), *at) != tile.order.end()) {
        result.in_blocks = name(*at);
        result.block_tiles = tile.block_tiles;
        loop = tiles_of(loop);
      } else if (std::find(tile.order.begin(), at, *at) != at) {
        loop = within_tile(loop);
      }
      result.order.push_back({std::move(loop), name(*at)});
    }
    if (!q_.main->reductions.empty())
      for (const TileAhead& each : operands_ahead(nest_, tile, cycles, machine_))
        result.ahead.push_back({each.operand, around(each.at), around(each.along), each.distance});
    return result;
  }
};

}  // namespace

bool is_short_block(const TileChoice& choice) {
  return !choice.block.empty() && choice.row.empty();
}

std::int64_t lanes_a_thread(const TileChoice& choice, std::int64_t extent, std::int64_t lanes,
                            int threads) {
  if (!choice.goes_by_lines || threads < 2) return 0;
  const std::int64_t tile = choice.tile.vectors * lanes;
  return extent < 2 * threads * tile ? 0 : ceil_div(ceil_div(extent, threads), tile) * tile;
}

TileChoice choose_tile(const TileQuestion& question, const Machine& machine) {
  const TileChooser chooser(question, machine);
  TileChoice best = chooser.run();
  if (best.cycles < 0) return best;
  if (!is_worth_threads(machine, best.cycles) || chooser.leaves_iterations(best)) return best;
  TileQuestion in_parts = question;
  in_parts.parts = machine.cores;
  TileChoice shared = TileChooser(in_parts, machine).run();
  if (shared.cycles < 0) return best;
  return chooser.leaves_iterations(shared) && shared.cycles < best.cycles * kWorthSharing ? shared
                                                                                          : best;
}

}  // namespace polyte::schedule
