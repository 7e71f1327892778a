#include "schedule/cost/tile_choice.h"

#include <algorithm>

#include "schedule/cost/streams.h"
#include "schedule/cost/threads.h"
#include "schedule/cost/tile_ahead.h"
#include "schedule/cost/tile_candidates.h"
#include "schedule/cost/traffic.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kUnhidden = 0.1;      // of what the less busy resources do
constexpr double kNoise = 0.995;       // what is cheaper by less is no better
constexpr double kWorthAnOrder = 1.6;  // times the cheapest pair: above, no order will help
constexpr std::size_t kMostOrdered = 4;
// Times the cheapest tile, for one of which threads get a part each.
constexpr double kWorthSharing = 1.2;
constexpr double kPaddedCopyCycles = 0.5;  // an element of a padded copy
constexpr double kCheapCopy = 0.1;         // of the steps that read it
// A page beyond these is looked up in the second level.
constexpr double kPageWalk = 7, kNearPages = 64;
// And beyond these in the tables, which nothing hides.
constexpr double kFarWalk = 64, kFarPages = 2048;
constexpr double kOfOpenSize = 1.25;  // a run may have a part of the tile, or one row
// Lines that follow each other are fetched ahead, in so many streams at once; where a run begins
// they are waited for.
constexpr double kRunStart = 10, kStreams = 16;
// A line that comes in one of several streams of its tensor, for each more.
constexpr double kRowCycles = 0.2;
constexpr std::int64_t kStreamedBlocks[] = {4, 8};  // rows of a reduction that has no tile's rows

class TileChooser {
 public:
  TileChooser(const TileQuestion& question, const Machine& machine)
      : q_(question),
        machine_(machine),
        nest_(nest_accesses(*question.program, *question.main, question.others, question.loops)) {}

  TileChoice run() const {
    const std::vector<TileCandidate> candidates = cheapest_tiles(q_, nest_, machine_);
    TileChoice best;
    best.cycles = -1;
    for (const TileCandidate& candidate : candidates) {
      if (candidate.together() > candidates.front().together() * kWorthAnOrder) continue;
      if (!q_.form || !q_.form->has("block")) consider_orders(candidate, {}, best);
      if (q_.form && !q_.form->has("block")) continue;
      for (const Block& block : blocks(candidate)) consider_orders(candidate, block, best);
    }
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

  std::size_t none() const { return nest_.loops.size(); }
  std::string name(std::size_t loop) const { return loop == none() ? "" : nest_.loops[loop].name; }
  std::int64_t extent(std::size_t loop) const {
    return loop == none() ? 1 : nest_.extent(name(loop));
  }

  std::int64_t reduction_steps() const {
    std::int64_t product = 1;
    for (const PricedLoop& loop : nest_.loops)
      if (loop.reduction) product *= std::max<std::int64_t>(1, loop.extent);
    return product;
  }

  struct Block {
    std::string loop;  // empty: none
    std::int64_t size = 0;
  };

  // One long reduction may be blocked: so that a panel stays in cache, so that its rows lie on
  // few pages, or, where nothing is used twice, so that few rows are read at once, each along
  // its length.
  std::vector<Block> blocks(const TileCandidate& candidate) const {
    if (q_.main->reductions.size() != 1 || candidate.at.lane == none() || candidate.at.turned)
      return {};
    // What leaves the registers leaves in vectors.
    if (nest_.accumulator.strides[candidate.at.lane] != 1) return {};
    std::vector<Block> all;
    const auto add = [&](std::int64_t size) {
      if (size < reduction_steps()) all.push_back({q_.main->reductions[0], size});
    };
    if (q_.form && !q_.form->block.empty()) {
      for (const std::int64_t size : q_.form->block) add(size);
    } else if (candidate.at.row != none()) {
      const ContractionShape shape{extent(candidate.at.row), extent(candidate.at.lane),
                                   reduction_steps(), nest_.dtype};
      add(choose_reduction_block(machine_, shape, candidate.tile));
      if (walks_pages(candidate)) add(static_cast<std::int64_t>(kNearPages));
    } else if (streams_only(candidate)) {
      for (const std::int64_t size : kStreamedBlocks) add(size);
    }
    return all;
  }

  // The steps of the whole reduction read an operand from more pages than are near.
  bool walks_pages(const TileCandidate& candidate) const {
    std::vector<std::int64_t> all;
    for (std::size_t l = 0; l < none(); ++l) all.push_back(points(l, candidate, {}));
    return std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
      return access.each_step && !candidate.at.packed.contains(access.buffer) &&
             access.pages(all) > kNearPages;
    });
  }

  // Each step reads its own elements, along the lanes.
  bool streams_only(const TileCandidate& candidate) const {
    return std::ranges::all_of(nest_.all, [&](const NestAccess& access) {
      if (!access.each_step) return true;
      for (std::size_t l = 0; l < none(); ++l)
        if (nest_.loops[l].extent > 1 && !access.moves_with(l)) return false;
      return access.strides[candidate.at.lane] == 1 && access.load && !access.load->otherwise;
    });
  }

  std::int64_t points(std::size_t loop, const TileCandidate& candidate, const Block& block) const {
    if (loop == candidate.at.lane)
      return std::min<std::int64_t>(
          extent(loop), std::int64_t{candidate.tile.vectors} * machine_.lanes(nest_.dtype));
    if (loop == candidate.at.row) return candidate.tile.rows;
    if (loop == candidate.at.outer_row) return candidate.tile.outer_rows;
    if (!nest_.loops[loop].reduction) return 1;
    return name(loop) == block.loop ? block.size : extent(loop);
  }

  // The loops around in isl's or the text's order, the tile's last; those of one iteration and
  // the fixed ones apart.
  struct Around {
    std::vector<std::size_t> fixed, moving, single;
  };
  Around loops_around(const TileCandidate& candidate, const Block& block) const {
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

  // Which operands a loop moves: those along the lanes, those along the rows, or both: lane_free,
  // row_free, batch.
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
                                    const Block& block) const {
    std::vector<std::size_t> order;
    const auto add = [&](std::size_t loop) {
      if (loop != none()) order.push_back(loop);
    };
    for (const std::string& role : form.order) {
      if (role == "lane") add(candidate.at.lane);
      if (role == "row") add(candidate.at.row);
      if (role == "block" && !block.loop.empty()) add(nest_.loop_number(block.loop));
      for (std::size_t l = 0; l < none(); ++l) {
        if (l == candidate.at.lane || l == candidate.at.row || nest_.loops[l].reduction) continue;
        if (role == "free" || role == side_of(l, candidate)) add(l);
      }
    }
    return order;
  }

  void consider_orders(const TileCandidate& candidate, const Block& block, TileChoice& best) const {
    TileLoops tile;
    for (std::size_t l = 0; l < none(); ++l) tile.points.push_back(points(l, candidate, block));
    tile.packed = candidate.at.packed;
    tile.blocked = !block.loop.empty();
    const double extra = candidate.copies + page_walks(candidate, tile);
    bool is_best = false, is_near = false;  // this tile; in an order that goes on along the lanes
    const auto consider = [&] {
      if (runs_backwards(tile.order)) return;
      const double cycles = price(
          candidate, tile, extra + run_starts(candidate, tile) + block_ends(candidate, block));
      const bool near = streams_by(candidate) && goes_on_along(tile, candidate.at.lane);
      const bool is_nearer = is_best && near && !is_near && cycles * kNoise < best.cycles;
      if (best.cycles >= 0 && cycles >= best.cycles * kNoise && !is_nearer) return;
      best = choice(candidate, block, tile, cycles);
      is_best = true;
      is_near = near;
    };
    if (q_.form) {
      tile.order = order_of(*q_.form, candidate, block);
      return consider();
    }
    const Around around = loops_around(candidate, block);
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

  // A window of few taps, of what the lanes move along: what they leave still would rather wait in
  // cache.
  bool streams_by(const TileCandidate& candidate) const {
    return candidate.at.lane != none() && reduction_steps() <= kWindowSteps &&
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

  // i of j <= i is outside: tiles of j are then cut at their ends, and begin where they begin. The
  // other way round i would begin inside a tile.
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
    return (busiest + kUnhidden * (sum - busiest) + extra) * (is_open(candidate) ? kOfOpenSize : 1);
  }

  bool is_open(const TileCandidate& candidate) const {
    return std::ranges::any_of(q_.program->open, [&](const std::string& iterator) {
      const std::size_t loop = nest_.loop_number(iterator);
      return loop != none() && candidate.at.tiles(loop);
    });
  }

  // Boxes of so many points that cover all loops.
  double boxes(const std::vector<std::int64_t>& points) const {
    double count = 1;
    for (std::size_t l = 0; l < none(); ++l)
      count *= static_cast<double>(
          ceil_div(std::max<std::int64_t>(1, nest_.loops[l].extent), points[l]));
    return count;
  }

  // Of operands read in place whose neighbours along the tile lie on pages of their own.
  double page_walks(const TileCandidate& candidate, const TileLoops& tile) const {
    double walks = 0;
    for (const NestAccess& access : nest_.all) {
      if (!access.each_step || candidate.at.packed.contains(access.buffer)) continue;
      const double pages = access.pages(tile.points);
      if (pages > kNearPages)
        walks += pages * (pages > kFarPages ? kFarWalk : kPageWalk * kUnhidden);
    }
    return walks * boxes(tile.points);
  }

  // Where no rows share a load, leaving the registers and coming back counts beside the steps.
  double block_ends(const TileCandidate& candidate, const Block& block) const {
    if (block.loop.empty() || candidate.at.row != none()) return 0;
    const double times = static_cast<double>(ceil_div(reduction_steps(), block.size));
    return nest_.accumulator.elements() / machine_.lanes(nest_.dtype) * times;
  }

  // Of what is read once from beyond the second cache. Where the tile reads few runs, the innermost
  // loop around goes on with each.
  double run_starts(const TileCandidate& candidate, const TileLoops& tile) const {
    if (candidate.at.lane == none()) return 0;
    if (q_.main->reductions.empty()) return definition_starts(candidate, tile);
    if (candidate.at.row != none()) return cycles_of_rows(nest_, tile, machine_);
    double starts = 0;
    for (const NestAccess& access : nest_.all) {
      const double bytes = access.bytes();
      if (!access.each_step || candidate.at.packed.contains(access.buffer) ||
          bytes < static_cast<double>(machine_.l2.bytes))
        continue;
      std::vector<std::int64_t> points = tile.points;
      const bool goes_on = access.runs(points).count <= kStreams && !tile.order.empty();
      if (goes_on) points[tile.order.back()] = nest_.loops[tile.order.back()].extent;
      starts += access.runs(points).count * boxes(points);
    }
    return starts * kRunStart;
  }

  // Of a definition each element is read and written once: where a stream begins, or is one too
  // many, it waits.
  double definition_starts(const TileCandidate& candidate, const TileLoops& tile) const {
    double at_once = 0, bytes = 0;
    for (const NestAccess& access : nest_.all) {
      at_once += access.runs(tile.points).count;
      bytes += access.bytes();
    }
    double cycles = 0;
    for (const NestAccess& access : nest_.all) {
      const double own = access.bytes();
      if (access.strides[candidate.at.lane] != 0 && own >= static_cast<double>(machine_.l1.bytes))
        cycles +=
            start_cycles(streams_of(access, nest_, tile, at_once <= kStreams), bytes, machine_);
    }
    if (bytes < static_cast<double>(machine_.l1.bytes)) return cycles;
    const double rows = at_once / static_cast<double>(nest_.all.size());
    return cycles + (rows - 1) * kRowCycles * bytes / static_cast<double>(machine_.l1.line_bytes);
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

  TileChoice choice(const TileCandidate& candidate, const Block& block, const TileLoops& tile,
                    double cycles) const {
    TileChoice result{name(candidate.at.lane),
                      name(candidate.at.row),
                      name(candidate.at.outer_row),
                      candidate.tile,
                      candidate.at.turned,
                      {},
                      candidate.at.packed,
                      guards_in_place(candidate),
                      block.loop,
                      block.size,
                      {},
                      cycles};
    const auto around = [&](std::size_t loop) {
      const bool is_split = candidate.at.tiles(loop) || name(loop) == block.loop;
      return is_split ? tiles_of(name(loop)) : name(loop);
    };
    for (const std::size_t loop : tile.order) result.order.push_back({around(loop), name(loop)});
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
  if (choice.block.empty() || !choice.row.empty() || choice.order.size() != 2 || threads < 2)
    return 0;
  if (choice.order.front().iterator != choice.block) return 0;
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
