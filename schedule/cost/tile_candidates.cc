#include "schedule/cost/tile_candidates.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "ir/contraction.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/traffic.h"
#include "schedule/state/tile_begins.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::size_t kMostCandidates = 48, kMostHeights = 2;
constexpr std::int64_t kMostInnerRows = 4;  // of a loop inside another one of rows, or all of it
constexpr int kFewSteps = 4;  // of a square that is not whole: what a load of 128 bits has
// Four bytes into a panel: along the lanes; across, one by one or in squares; the same where the
// lanes' lines fall into few sets of the cache.
constexpr double kCopyAlong = 0.5, kCopyAcross = 1, kCopyInSquares = 0.6;
constexpr double kCrowdedCopyAcross = 5, kCrowdedCopyInSquares = 1.2;
// The same along the lanes, of a line that comes from beyond the second cache.
constexpr double kFarCopyWord = 0.5;
constexpr double kPanelCycles = 200;  // to begin with
// Of a tile that a diagonal cuts, what is computed and not needed (lower/complete_tiles.h).
constexpr double kCutOff = 0.5;
// Whole steps that a step besides costs of which a tile's rows have some: tests of each.
constexpr double kFewRows = 2;

// Cheapest first; equals stay in their order.
void keep_cheapest(std::vector<TileCandidate>& all, std::size_t count) {
  std::vector<std::pair<double, std::size_t>> costs;
  for (const TileCandidate& candidate : all) costs.emplace_back(candidate.together(), costs.size());
  std::ranges::sort(costs);
  costs.resize(std::min(costs.size(), count));
  std::vector<TileCandidate> kept;
  for (const auto& [cost, at] : costs) kept.push_back(all[at]);
  all = std::move(kept);
}

class TileFinder {
 public:
  TileFinder(const TileQuestion& question, const NestAccesses& nest, const Machine& machine)
      : q_(question), machine_(machine), nest_(nest), steps_(nest, *question.main, machine) {}

  std::vector<TileCandidate> cheapest_steps() const {
    std::vector<std::size_t> lanes{none()}, rows{none()};
    for (const std::string& loop : q_.candidates)
      if (may_have("lane") && nest_.extent(loop) > 1 && suits_lanes(loop))
        lanes.push_back(nest_.loop_number(loop));
    // From the innermost loop outwards: of equally cheap candidates the first one is kept, and it
    // is nearer in memory.
    for (const std::string& loop : std::views::reverse(q_.candidates))
      if (may_have("row") && nest_.extent(loop) > 1) rows.push_back(nest_.loop_number(loop));
    std::vector<TileCandidate> all;
    if (q_.form && q_.form->has("turn") && !q_.form->has("row")) lanes.clear();
    for (const std::size_t lane : lanes)
      for (const std::size_t row : rows)
        for (const std::size_t outer : rows)
          if (are_apart(lane, row, outer) && is_worth_rows(lane, row) && may_be("lane", lane) &&
              may_be("row", row) && may_be("outer_row", outer))
            for (const std::set<std::string>& packed : panel_choices(lane, row))
              if (!gathers_few(lane, packed)) {
                const TileLoopNumbers at{lane, row, outer, packed};
                add_tiles(at, all);
                if (turns(at)) add_turned_tiles(at, all);
              }
    for (const std::string& loop : q_.turned) {
      if (!may_have("turn")) continue;
      const TileLoopNumbers at{
          nest_.loop_number(loop), none(), none(), {}, machine_.lanes(nest_.dtype)};
      all.push_back({at, {1, 1}, steps_.cycles(at, {1, 1}), 0});
    }
    keep_cheapest(all, kMostCandidates);
    return all;
  }

 private:
  const TileQuestion& q_;
  const Machine& machine_;
  const NestAccesses& nest_;
  StepCost steps_;

  std::size_t none() const { return nest_.loops.size(); }
  std::string name(std::size_t loop) const { return loop == none() ? "" : nest_.loops[loop].name; }
  std::int64_t extent(std::size_t loop) const {
    return loop == none() ? 1 : nest_.extent(name(loop));
  }

  bool may_have(const char* loop) const { return !q_.form || q_.form->has(loop); }

  // The loop that a template has for the role.
  bool may_be(const char* role, std::size_t loop) const {
    if (!q_.form || !q_.form->fixed.contains(role)) return true;
    return q_.form->fixed.at(role) == name(loop);
  }

  static bool allows(const std::set<std::int64_t>& sizes, std::int64_t size) {
    return sizes.empty() || sizes.contains(size);
  }
  // Whether the sizes are among those that the template allows.
  bool is_asked_for(const TileLoopNumbers& at, const RegisterTile& tile) const {
    if (!q_.form) return true;
    const std::int64_t lanes = std::min<std::int64_t>(
        extent(at.lane), std::int64_t{tile.vectors} * machine_.lanes(nest_.dtype));
    return (at.row == none() || allows(q_.form->rows, tile.rows)) &&
           (at.outer_row == none() || allows(q_.form->outer_rows, tile.outer_rows)) &&
           (at.lane == none() || allows(q_.form->lanes, lanes));
  }

  // Whether the three loops of a tile differ; a second row loop only joins lanes and a first row
  // loop that is too short to fill half of the registers, or whose operands it uses again.
  bool are_apart(std::size_t lane, std::size_t row, std::size_t outer) const {
    if (row == lane && row != none()) return false;
    if (outer == none()) return true;
    if (q_.main->reductions.empty() || !may_have("outer_row")) return false;
    return lane != none() && row != none() && outer != lane && outer != row &&
           (2 * extent(row) < accumulators() || share_operands(lane, row, outer));
  }

  // Whether each of the two loops uses again what moves with the other one, as pixels and blocks of
  // output channels do, and lanes of one vector leave them the registers.
  bool share_operands(std::size_t lane, std::size_t row, std::size_t outer) const {
    const auto moves_with = [&](std::size_t one, std::size_t other) {
      return std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
        return access.each_step && access.load && access.moves_with(one) &&
               (!access.moves_with(other) || access.stays[other] > 1);
      });
    };
    return steps_.lane_vectors(lane) == 1 && moves_with(row, outer) && moves_with(outer, row);
  }

  // Rows of a definition are worth their streams where they share a read, or where the lanes fill
  // few vectors.
  bool is_worth_rows(std::size_t lane, std::size_t row) const {
    if (row == none() || !q_.main->reductions.empty()) return true;
    return extent(lane) < std::int64_t{kVectorsAPoint} * machine_.lanes(nest_.dtype) ||
           std::ranges::any_of(
               nest_.all, [&](const NestAccess& access) { return !access.moves_with(row); });
  }

  // A definition wants neighbours in its lanes. A sum may lie across memory, where it is stored
  // once for all of its steps, from registers.
  bool suits_lanes(const std::string& loop) const {
    const std::int64_t lanes = machine_.lanes(nest_.dtype);
    const bool is_aligned = first_value(*q_.main, loop).value_or(1) % lanes == 0;
    const auto carries = [&](const ir::Statement* s) {
      return can_carry_lanes(*q_.program, *s, loop, is_aligned ? lanes : 1);
    };
    if (!carries(q_.main) || !std::ranges::all_of(q_.others, carries)) return false;
    const std::int64_t stride = ir::stride_of(*q_.program, q_.main->writes[0], loop).value_or(0);
    const bool is_kept = stays_inside(*q_.program, q_.main->writes[0].buffer, *q_.main, q_.others);
    if (is_kept || stride == 1) return stride != 0;
    std::vector<const ir::Statement*> nest = q_.others;
    nest.push_back(q_.main);
    return stride != 0 && !q_.main->reductions.empty() && !is_coupled(nest_.loop_number(loop)) &&
           can_stage_accumulator(*q_.program, *q_.main, nest, false);
  }

  // Whether lanes do not pay: fewer of them than a vector has, and operands gathered element by
  // element. Definitions gain a store for all lanes, and close elements come by masked vectors and
  // shuffles, where the processor has these.
  bool gathers_few(std::size_t lane, const std::set<std::string>& packed) const {
    if (lane == none() || extent(lane) >= machine_.lanes(nest_.dtype)) return false;
    if (q_.main->reductions.empty()) return false;
    return std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
      const bool has_masks = machine_.vector_bits >= 256 &&
                             size_in_bytes(q_.program->buffer(access.buffer).dtype) >= 4;
      return access.each_step && access.load &&
             access.strides[lane] > (has_masks ? kNearLanes : 1) && !packed.contains(access.buffer);
    });
  }

  bool is_written_here(const std::string& buffer) const {
    const auto writes = [&](const ir::Statement* s) {
      return std::ranges::any_of(s->writes,
                                 [&](const ir::Access& write) { return write.buffer == buffer; });
    };
    return writes(q_.main) || std::ranges::any_of(q_.others, writes);
  }

  // The panels of a read begin with its first element, and tiles elsewhere: no load of a tile would
  // be a vector.
  bool lies_beside_tiles(const NestAccess& access, std::size_t lane, std::size_t row) const {
    if (!is_result(access.buffer)) return false;
    const std::size_t side = access.moves_with(lane) ? lane : row;
    std::vector<const ir::Statement*> all = q_.others;
    all.push_back(q_.main);
    return first_of_tiles(*q_.program, all, name(side),
                          side == lane ? Lanes::OfTile : Lanes::None) !=
           first_value(*q_.main, name(side));
  }

  bool is_result(const std::string& buffer) const {
    const ir::Role role = q_.program->buffer(buffer).role;
    return role == ir::Role::Out || role == ir::Role::InOut;
  }

  // Every choice of what lies in panels: constants always do.
  std::vector<std::set<std::string>> panel_choices(std::size_t lane, std::size_t row) const {
    std::vector<std::set<std::string>> choices{{}};
    if (lane == none() || q_.main->reductions.empty() || (q_.form && !q_.form->packs))
      return choices;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !access.each_step) continue;
      if (choices.front().contains(access.buffer) || choices.back().contains(access.buffer))
        continue;
      if (!can_pack(*q_.program, *q_.main, *access.load, name(lane), name(row)) ||
          is_written_here(access.buffer) || lies_beside_tiles(access, lane, row))
        continue;
      const bool is_free = q_.program->buffer(access.buffer).role == ir::Role::Const;
      const std::size_t count = choices.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_free) choices.push_back(choices[i]);
        choices[i].insert(access.buffer);
      }
    }
    return choices;
  }

  int accumulators() const { return machine_.vector_registers - 2; }

  // Registers beside the sums and the vectors along the lanes: a product's other factor, and one
  // more where the value is longer, or lanes differ in what they read or compute.
  int other_registers(const TileLoopNumbers& at) const {
    const bool is_product = !q_.main->reductions.empty() && steps_.operations() <= 1;
    const auto differs = [&](const ir::Constraint& guard) {
      return at.lane != none() && guard.expr.uses(name(at.lane));
    };
    const bool is_guarded = std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
      return access.load && access.load->otherwise &&
             std::ranges::any_of(access.load->guard, differs);
    });
    const int operands = is_product && !is_guarded && !are_coupled(at.lane, at.row) ? 1 : 2;
    return operands + steps_.temporaries();
  }

  // Whether one constraint has both loops, as in a triangle.
  bool are_coupled(std::size_t lane, std::size_t row) const {
    return lane != none() && row != none() &&
           std::ranges::any_of(q_.main->domain, [&](const ir::Constraint& c) {
             return c.expr.uses(name(lane)) && c.expr.uses(name(row));
           });
  }

  // Whether it bounds another loop, or is bounded: tiles at a diagonal begin in the middle of a
  // vector.
  bool is_coupled(std::size_t lane) const {
    for (std::size_t other = 0; other < none(); ++other)
      if (other != lane && are_coupled(lane, other)) return true;
    return false;
  }

  // The share of a triangle's tiles that the diagonal cuts: each row of tiles has one, and half as
  // many tiles as the square has. Where rows do not divide the lanes of a tile the corners of tiles
  // are not on the diagonal, and each column of tiles has one more.
  double cut_share(const TileLoopNumbers& at, int vectors, std::int64_t rows) const {
    const std::int64_t lanes = vectors * machine_.lanes(nest_.dtype);
    const double tiles = static_cast<double>(extent(at.lane)) / (2.0 * static_cast<double>(lanes));
    const double beside =
        lanes % rows == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(lanes);
    return (1 + beside) / std::max(1.0, tiles);
  }

  // The share of a tile's steps that not all of its rows have, where a row's steps begin or end
  // with the row, as in `k in i..N`.
  double uneven_steps(const TileLoopNumbers& at, std::int64_t rows) const {
    double share = 0;
    for (const std::string& reduction : q_.main->reductions) {
      const std::size_t step = nest_.loop_number(reduction);
      if (rows > 1 && are_coupled(step, at.row))
        share += static_cast<double>(rows) /
                 static_cast<double>(std::max<std::int64_t>(1, extent(step)));
    }
    return share;
  }

  // Registers for operands: what the outer row loop uses again waits for all of the inner one.
  std::int64_t kept(const TileLoopNumbers& at, int vectors, std::int64_t rows) const {
    std::int64_t count = 0;
    for (const NestAccess& access : nest_.all) {
      if (!access.each_step) continue;
      const bool waits = !access.moves_with(at.outer_row) && access.moves_with(at.row);
      count += (waits ? rows : 1) * (access.moves_with(at.lane) ? vectors : 1);
    }
    return count;
  }

  // The part of a loop that a tile may take.
  std::int64_t most_of(std::int64_t extent) const {
    return std::max<std::int64_t>(1, ceil_div(extent, q_.parts));
  }

  std::int64_t most_vectors(const TileLoopNumbers& at) const {
    const std::int64_t all = steps_.lane_vectors(at.lane);
    return extent(at.row) > 1 ? all : most_of(all);
  }

  // Vectors of a tile. Rows fill the registers; sums without them may have all lanes at once, where
  // these are whole vectors: one walk through memory.
  std::vector<int> widths(const TileLoopNumbers& at) const {
    const std::int64_t most = most_vectors(at);
    std::vector<int> all{2, 1, 3, 4};
    std::erase_if(all, [&](int vectors) { return vectors > most || !is_in_place(at, vectors); });
    if (at.row != none() || q_.main->reductions.empty()) return all;
    if (most >= 8) all.push_back(8);
    const bool is_whole = extent(at.lane) == most * machine_.lanes(nest_.dtype);
    if (most > 4 && most != 8 && most <= accumulators() && is_whole)
      all.push_back(static_cast<int>(most));
    return all;
  }

  // What stays for some lanes, as x[i//48] does, stays for those of each tile.
  bool is_in_place(const TileLoopNumbers& at, int vectors) const {
    return std::ranges::all_of(nest_.all, [&](const NestAccess& access) {
      const std::int64_t stays = at.lane == none() ? 1 : access.stays[at.lane];
      return stays == 1 || stays % (vectors * machine_.lanes(nest_.dtype)) == 0;
    });
  }

  // The best heights of each width: panels of other widths meet the caches differently.
  void add_tiles(const TileLoopNumbers& at, std::vector<TileCandidate>& all) const {
    for (const int vectors : widths(at)) {
      std::vector<TileCandidate> tiles;
      const auto keep_best = [&] {
        keep_cheapest(tiles, kMostHeights);
        all.insert(all.end(), tiles.begin(), tiles.end());
        tiles.clear();
      };
      const bool is_coupled = are_coupled(at.lane, at.row);
      const int free = machine_.vector_registers - other_registers(at) + 1;
      // What rows share waits in registers; without them it is an operand of one sum.
      const int most = (free - 1 - (at.row == none() ? 0 : vectors)) / vectors;
      const auto add = [&](std::int64_t rows, std::int64_t outer_rows) {
        const RegisterTile tile{static_cast<int>(rows), vectors, static_cast<int>(outer_rows)};
        if (!is_asked_for(at, tile)) return;
        const double cut = (is_coupled ? kCutOff * cut_share(at, vectors, rows) : 0) +
                           kFewRows * uneven_steps(at, rows);
        tiles.push_back({at, tile, steps_.cycles(at, tile) * (1 + cut), panel_cycles(at, tile)});
      };
      if (at.outer_row == none()) {
        for (std::int64_t r = std::min<std::int64_t>(most_of(extent(at.row)), most); r >= 1; --r)
          add(r, 1);
      } else {  // the inner loop as a whole, or a few of its rows
        const std::int64_t most_inner =
            share_operands(at.lane, at.row, at.outer_row) ? kMostInnerRows : 1;
        const std::int64_t whole = std::min<std::int64_t>(extent(at.row), most);
        for (std::int64_t inner = 2; inner <= whole; ++inner) {
          if (inner > most_inner && inner < extent(at.row)) continue;
          for (std::int64_t r = std::min(most_of(extent(at.outer_row)), most / inner); r >= 2; --r)
            if (inner * r * vectors + kept(at, vectors, inner) <= free) add(inner, r);
          keep_best();
        }
      }
      keep_best();
    }
  }

  // Whether reads that stride along the lanes all lie along the innermost steps of the sum, and
  // there is one: squares of the two are read along memory and transposed in registers.
  //
  //   C[m, n] += A[m, k] * B[n, k]     rows m, lanes n: B in squares of n and k
  bool turns(const TileLoopNumbers& at) const {
    if (!may_have("turn") || at.lane == none() || at.row == none() || at.outer_row != none() ||
        q_.main->reductions.empty() || are_coupled(at.lane, at.row))
      return false;
    const std::size_t step = nest_.loop_number(q_.main->reductions.back());
    const int lanes = machine_.lanes(nest_.dtype);
    if (lanes < kFewSteps || extent(at.lane) < lanes || extent(step) < kFewSteps) return false;
    bool found = false;
    for (const NestAccess& access : nest_.all) {
      if (!access.each_step || at.packed.contains(access.buffer) ||
          access.strides[at.lane] <= kNearLanes || access.stays[at.lane] > 1)
        continue;
      const bool is_word = access.element_bytes == 4 || access.element_bytes == 8;
      if (!access.load || access.load->otherwise || access.strides[step] != 1 || !is_word)
        return false;
      found = true;
    }
    return found;
  }

  // Sums, and a square's vectors until its last step, are in registers; where a whole square does
  // not fit in beside the rows, a few of its steps may.
  void add_turned_tiles(const TileLoopNumbers& at, std::vector<TileCandidate>& all) const {
    const std::int64_t steps = extent(nest_.loop_number(q_.main->reductions.back()));
    for (int vectors = 1; vectors <= std::min<std::int64_t>(3, most_vectors(at)); ++vectors) {
      const int places = (machine_.vector_registers - 1 - steps_.temporaries()) / vectors;
      std::vector<TileCandidate> tiles;
      for (std::int64_t rows = std::min<std::int64_t>(most_of(extent(at.row)), places); rows >= 1;
           --rows) {
        for (const int turned : {machine_.lanes(nest_.dtype), kFewSteps}) {
          if (rows + turned > places || turned > steps) continue;
          TileLoopNumbers own = at;
          own.turned = turned;
          const RegisterTile tile{static_cast<int>(rows), vectors, 1};
          if (is_asked_for(own, tile))
            tiles.push_back({own, tile, steps_.cycles(own, tile), panel_cycles(own, tile)});
        }
      }
      keep_cheapest(tiles, kMostHeights);
      all.insert(all.end(), tiles.begin(), tiles.end());
    }
  }

  // Rows of a panel are pieces of lines, which the panels beside it read again. Where the lines of
  // a panel stay in the second cache until then, no piece costs more than a line.
  double copy_along(const NestAccess& access, std::size_t panel, int size) const {
    const auto near = static_cast<double>(machine_.l2.bytes);
    if (access.bytes() <= near) return kCopyAlong;
    const double line = machine_.l1.line_bytes,
                 rows = access.elements() / static_cast<double>(extent(panel));
    double piece = static_cast<double>(size) * static_cast<double>(access.element_bytes);
    if (rows * line <= kUsableShare * near) piece = std::max(piece, line);
    return std::max(kCopyAlong, kFarCopyWord * (piece + line) / piece);
  }

  double copy_cycles(const NestAccess& access, const TileLoopNumbers& at,
                     const RegisterTile& tile) const {
    const std::size_t panel = access.moves_with(at.lane) ? at.lane : at.row;
    const int size = panel == at.row ? tile.rows : tile.vectors * machine_.lanes(nest_.dtype);
    if (panel == none() || access.strides[panel] <= 1) return copy_along(access, panel, size);
    const bool crowded =
        conflicts_in_cache(machine_, access.strides[panel] * access.element_bytes, size);
    const bool in_squares =
        !is_result(access.buffer) &&
        !square_loop(*q_.program, *q_.main, machine_, *access.load, nest_.loops[panel].name)
             .empty();
    return in_squares ? (crowded ? kCrowdedCopyInSquares : kCopyInSquares)
                      : (crowded ? kCrowdedCopyAcross : kCopyAcross);
  }

  double panel_cycles(const TileLoopNumbers& at, const RegisterTile& tile) const {
    double cycles = 0;
    for (const NestAccess& access : nest_.all) {
      if (!access.load || !at.packed.contains(access.buffer)) continue;
      if (q_.program->buffer(access.buffer).role == ir::Role::Const) continue;
      const double words = std::max(1.0, static_cast<double>(access.element_bytes) / 4);
      cycles += access.elements() * words * copy_cycles(access, at, tile) + kPanelCycles;
    }
    return cycles;
  }
};

}  // namespace

std::vector<TileCandidate> cheapest_tiles(const TileQuestion& question, const NestAccesses& nest,
                                          const Machine& machine) {
  return TileFinder(question, nest, machine).cheapest_steps();
}

bool ends_move(const TileQuestion& question, const NestAccesses& nest,
               const TileLoopNumbers& tile) {
  const auto place_of = [&](const ir::Statement* s) {
    return std::ranges::find(question.program->statements, s->name, &ir::Statement::name);
  };
  const auto main = place_of(question.main);
  const auto is_before = [&](const ir::Statement* s) { return place_of(s) < main; };
  if (question.others.empty()) return false;
  const bool precedes = std::ranges::any_of(question.others, is_before),
             follows = !std::ranges::all_of(question.others, is_before);
  // Inside a division it may go either way.
  const auto moves_out = [](const ir::Affine& e, const std::string& loop) {
    return e.uses(loop) && e.coefficient(loop) >= 0;
  };
  return std::ranges::any_of(question.main->domain, [&](const ir::Constraint& c) {
    const std::string& reduction = question.main->reductions[0];
    if (!c.expr.uses(reduction)) return false;
    const std::int64_t step = c.expr.coefficient(reduction);
    if ((step > 0 && !precedes) || (step < 0 && !follows)) return false;
    return std::ranges::any_of(
        std::vector{tile.lane, tile.row, tile.outer_row}, [&](std::size_t loop) {
          return loop < nest.loops.size() && moves_out(c.expr, nest.loops[loop].name);
        });
  });
}

}  // namespace polyte::schedule
