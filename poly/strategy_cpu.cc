#include "poly/strategy_cpu.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "poly/nest_order.h"
#include "poly/register_tiles.h"
#include "poly/shared_nest.h"
#include "poly/strategy_maps.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/row_chain.h"
#include "schedule/cost/threads.h"
#include "schedule/cost/tile_choice.h"
#include "schedule/cost/tiled_nest.h"
#include "schedule/state/digits.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using schedule::tiles_of;
using schedule::within_tile;

// A top-level nest: shared bands, then clusters.
class NestStrategy {
 public:
  NestStrategy(const ir::Program& program, const schedule::State& reference, const Core& core,
               const Machine& machine, const StrategyOptions& options, int number,
               std::set<std::string>& staged)
      : program_(program),
        reference_(reference),
        machine_(machine),
        options_(options),
        number_(number),
        staged_(staged) {
    collect(core);
  }

  // Whether fusion costs this nest its register tile: most of its work is contractions, and these
  // share loops with other clusters.
  bool loses_tiles() const {
    if (options_.affine_core_only || (parts_.size() == 1 && outer_.empty())) return false;
    std::vector<const ir::Statement*> statements;
    for (const Cluster* part : parts_)
      statements.push_back(part->update() ? part->update() : part->statements.back());
    return wants_register_tiles(program_, reference_, statements);
  }

  // Whether a sum shares loops with another cluster.
  bool shares_sums() const {
    return parts_.size() > 1 && !outer_.empty() &&
           std::ranges::any_of(parts_, [](const Cluster* part) { return part->update(); });
  }

  // The list: tiles with their order and blocks, parallel loop, nest, staging.
  schedule::NestPlan run() {
    if (options_.affine_core_only) return plan_shared_nest(shared_nest());
    // A statement that reads what it has written at other points keeps isl's order.
    const bool is_apart = ir::stay_at_their_point(main(), main());
    if (parts_.size() != 1 || !outer_.empty() || !is_apart || fills_in_turn())
      return plan_shared_nest(shared_nest());
    if (const auto phases = schedule::lane_phases(program_, main()); phases && has_phases(*phases))
      return plan_phases(*phases);
    if (has_lane_blocks()) return plan_shared_nest(shared_nest());
    leave_reductions_inside();
    choose_tiles();
    if (!tile_.lane.empty() && schedule::is_worth_threads(machine_, tile_.cycles))
      share_ = schedule::lanes_a_thread(tile_, extent(tile_.lane), machine_.lanes(dtype()),
                                        machine_.cores);
    order_outer_loops();
    schedule::NestPlan plan = plan_tiled_nest(tiled_nest(), number_);
    stages(plan.stages);
    prefetches(plan);
    return plan;
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const StrategyOptions& options_;
  int number_;
  std::set<std::string>& staged_;             // for the whole kernel, by all nests so far
  std::vector<schedule::CountedLoop> outer_;  // bands above a sequence of several clusters
  std::vector<BandMember> own_;               // the band of a single cluster
  std::vector<const Cluster*> parts_;
  std::vector<Core> keep_;  // owns what parts_ points to
  schedule::TileChoice tile_;
  std::int64_t share_ = 0;  // lanes of a thread, cut before all else; 0: none
  std::vector<schedule::CountedLoop> order_;

  const Cluster& cluster() const { return *parts_[0]; }
  const ir::Statement& main() const {
    return cluster().update() ? *cluster().update() : *cluster().statements.back();
  }

  SharedNest shared_nest() const {
    return {&program_, &reference_, &machine_, own_, parts_, options_.affine_core_only};
  }

  void collect(const Core& core) {
    Core node = core;
    while (const auto* band = std::get_if<Band>(&node->op)) {
      for (const BandMember& member : band->members) own_.push_back(member);
      keep_.push_back(band->child);
      node = band->child;
    }
    keep_.push_back(node);
    parts_ = clusters_of(node);
    if (parts_.size() > 1) {
      for (const BandMember& member : own_) {
        outer_.push_back(
            {member.loop, iterations_of(reference_, main(), member.loop), member.coincident});
      }
    }
  }

  // y[2*i] = .. and y[2*i + 1] = ..: each alone would fill every other element of a line.
  bool fills_in_turn() const {
    const std::vector<const ir::Statement*>& all = cluster().statements;
    return all.size() > 1 && ir::write_in_turn(*all[all.size() - 2], *all.back());
  }

  // Definitions whose subscripts divide the innermost loop (i // 8, i % 8): along the loop lanes do
  // not advance evenly, but within blocks of it they do.
  bool has_lane_blocks() const {
    if (cluster().update() || own_.empty() || !own_.back().coincident) return false;
    const std::string& loop = own_.back().loop;
    if (extent(loop) < machine_.lanes(dtype())) return false;
    const std::vector<const ir::Statement*>& all = cluster().statements;
    return std::ranges::all_of(all,
                               [&](const ir::Statement* s) {
                                 return ir::stride_of(program_, s->writes[0], loop) == 1;
                               }) &&
           !std::ranges::all_of(all,
                                [&](const ir::Statement* s) {
                                  return schedule::can_carry_lanes(program_, *s, loop);
                                }) &&
           schedule::lane_block(program_, all, loop, machine_.lanes(dtype()));
  }

  // One definition whose loop can be cut into phases, iterations of equal remainder, that fill
  // vectors.
  bool has_phases(const schedule::LanePhases& phases) const {
    const auto member = std::ranges::find(own_, phases.loop, &BandMember::loop);
    return cluster().statements.size() == 1 && !cluster().update() && program_.open.empty() &&
           member != own_.end() && member->coincident &&
           phases.fill_vectors(extent(phases.loop), machine_.lanes(dtype()));
  }

  // i as phases and steps: i.i of `count` phases unrolled, in each of which lanes along i.o.i
  // advance evenly.
  //
  //   y[i] = x[i // 3]     i = 3 * i.o + i.i:  x[i.o] in each phase
  schedule::NestPlan plan_phases(const schedule::LanePhases& phases) const {
    const std::string outer = tiles_of(phases.loop);
    const std::int64_t lanes = machine_.lanes(dtype());
    std::vector<schedule::CountedLoop> around;
    double vectors = 1;
    for (const BandMember& member : own_)
      if (member.loop != phases.loop)
        around.push_back({member.loop, extent(member.loop), member.coincident, member.loop});
    around.push_back(
        {tiles_of(outer), ceil_div(extent(phases.loop), phases.count * lanes), true, phases.loop});
    for (const schedule::CountedLoop& loop : around)
      vectors *= static_cast<double>(loop.trips * phases.count);
    schedule::NestPath path =
        path_of(around, schedule::loop_for_threads(machine_, vectors, around));
    path.push_back({within_tile(phases.loop), schedule::LoopKind::Unrolled});
    path.push_back({within_tile(outer), schedule::LoopKind::Vector});
    schedule::NestPlan plan{.number = number_};
    plan.splits.emplace_back(
        schedule::PlannedSplit{main().name, phases.loop, schedule::Elements{phases.count}});
    plan.splits.emplace_back(schedule::PlannedSplit{main().name, outer, schedule::Vectors{1}});
    plan.tree = nest_path(path, schedule::nest_statement(main().name));
    return plan;
  }

  // A scatter's loop is a band of its own; like any reduction it runs inside the tile.
  void leave_reductions_inside() {
    std::erase_if(own_, [&](const BandMember& member) {
      return std::ranges::find(main().reductions, member.loop) != main().reductions.end();
    });
  }

  std::vector<schedule::PricedLoop> loops() const {
    std::vector<schedule::PricedLoop> all;
    for (const std::string& it : main().iterators) {
      const bool reduction = std::ranges::find(main().reductions, it) != main().reductions.end();
      all.push_back({it, iterations_of(reference_, main(), it), reduction});
    }
    return all;
  }

  // Loops with carried dependences stay where isl put them, and so do all loops outside of them.
  schedule::TileQuestion question(const std::vector<std::string>& candidates) const {
    schedule::TileQuestion question{
        .program = &program_, .main = &main(), .loops = loops(), .candidates = candidates};
    for (const ir::Statement* s : cluster().statements)
      if (s != &main()) question.others.push_back(s);
    if (const std::string lane = turned_lane(shared_nest()); !lane.empty())
      question.turned.push_back(lane);
    const auto last = std::ranges::find_if(own_.rbegin(), own_.rend(),
                                           [](const BandMember& m) { return !m.coincident; });
    for (auto member = own_.begin(); member != last.base(); ++member)
      question.fixed_order.push_back(member->loop);
    return question;
  }

  void choose_tiles() {
    std::vector<std::string> candidates;
    for (const BandMember& member : own_) {
      if (member.coincident) candidates.push_back(member.loop);
    }
    tile_ = schedule::choose_tile(question(candidates), machine_);
    if (cluster().update() == nullptr) choose_square(candidates);
    if (tile_.row.empty() && cluster().update() == nullptr && !tile_.lane.empty()) {
      const std::int64_t most = ceil_div(extent(tile_.lane), machine_.lanes(dtype()));
      tile_.tile = {1, static_cast<int>(std::min<std::int64_t>(schedule::kVectorsAPoint, most))};
    }
  }

  // A definition whose reads stride along the lanes, as a transposition's do: square tiles of the
  // lanes and the loop along which the reads do not stride, transposed in registers. A loop shorter
  // than a vector gives a smaller square.
  void choose_square(const std::vector<std::string>& candidates) {
    for (const std::string& lane : candidates) {
      const std::string turning = schedule::turning_loop(program_, main(), lane);
      const bool is_candidate = std::ranges::find(candidates, turning) != candidates.end();
      const std::int64_t side = schedule::square_side(extent(lane), machine_.lanes(dtype()));
      if (!is_candidate || side < 2 || extent(turning) < side ||
          ir::stride_of(program_, main().writes[0], lane) != 1 ||
          !schedule::can_carry_lanes(program_, main(), lane))
        continue;
      tile_.lane = lane;
      tile_.row = turning;
      tile_.tile = {static_cast<int>(side), 1};
      std::vector<std::string> last = {lane, turning};
      if (schedule::stepping_loop(program_, main(), lane, turning, side, machine_) == lane)
        std::swap(last[0], last[1]);
      order_by_band(last);
    }
  }

  DType dtype() const { return program_.buffer(main().writes[0].buffer).dtype; }
  std::int64_t extent(const std::string& loop) const {
    return loop.empty() ? 1 : iterations_of(reference_, main(), loop);
  }
  std::int64_t lane_size() const {
    return std::min<std::int64_t>(extent(tile_.lane),
                                  std::int64_t{tile_.tile.vectors} * machine_.lanes(dtype()));
  }
  std::int64_t steps() const {
    std::int64_t product = 1;
    for (const std::string& loop : main().reductions)
      product *= std::max<std::int64_t>(1, extent(loop));
    return product;
  }

  schedule::TileSize lane_tile() const {
    const std::int64_t lanes = machine_.lanes(dtype());
    if (lane_size() % lanes == 0) return schedule::Vectors{lane_size() / lanes};
    return schedule::Elements{lane_size()};
  }

  // isl's order, the tile's loops last.
  void order_by_band(const std::vector<std::string>& last) {
    tile_.order.clear();
    for (const BandMember& member : own_)
      if (std::ranges::find(last, member.loop) == last.end()) tile_.order.push_back({member.loop});
    for (const std::string& loop : last) tile_.order.push_back({tiles_of(loop), loop});
  }

  // The loops around a tile in the order that was chosen, with their iterations: over blocks, tiles
  // or single values.
  void order_outer_loops() {
    if (share_ > 0) order_.push_back({tiles_of(tile_.lane), machine_.cores, true, tile_.lane});
    for (const auto& [name, loop] : tile_.order) {
      if (loop == tile_.in_blocks) {
        const std::int64_t tile = loop == tile_.lane ? lane_size() : tile_.tile.rows,
                           tiles = ceil_div(extent(loop), tile);
        const bool is_of_blocks = name == tiles_of(tiles_of(loop));
        order_.push_back({name,
                          is_of_blocks ? ceil_div(tiles, tile_.block_tiles) : tile_.block_tiles,
                          true, loop});
      } else if (loop == tile_.lane) {
        order_.push_back(
            {tiles_of(lane_loop(tile_, share_)), ceil_div(extent(loop), lane_size()), true, loop});
      } else if (loop == tile_.outer_row) {
        order_.push_back({name, ceil_div(extent(loop), tile_.tile.outer_rows), true, loop});
      } else if (loop == tile_.row) {
        order_.push_back({name, ceil_div(extent(loop), std::max(1, tile_.tile.rows)), true, loop});
      } else {
        const auto member = std::ranges::find(own_, loop, &BandMember::loop);
        const bool is_block = loop == tile_.block;
        if (member != own_.end() || is_block)  // isl leaves loops of one iteration out
          order_.push_back({name,
                            is_block ? ceil_div(extent(loop), tile_.block_size) : extent(loop),
                            !is_block && member->coincident, loop});
      }
    }
  }

  schedule::TiledNest tiled_nest() const {
    return {
        .choice = &tile_,
        .statements = cluster().statements,
        .update = cluster().update(),
        .lanes = lane_tile(),
        .share = share_,
        .around = order_,
        .parallel = threads(),
        .order_by = follows_isl() ? schedule::Provenance::Isl : schedule::Provenance::TileModel};
  }

  std::string threads() const {
    return schedule::loop_for_threads(machine_, tile_.cycles, order_, program_.open);
  }

  // The loops are in the order of isl's bands, and not as choose_tile has put them around a tile.
  bool follows_isl() const {
    if (!tile_.lane.empty() || !tile_.row.empty() || !tile_.block.empty()) return false;
    std::vector<std::string> bands, here;
    for (const BandMember& member : own_) bands.push_back(member.loop);
    for (const schedule::CountedLoop& loop : order_) here.push_back(loop.iterator);
    return here == bands;
  }

  static bool has_single_cell(const ir::Statement& update) {
    return std::ranges::all_of(update.writes[0].indices, [&](const ir::Index& index) {
      return !index.indirect && std::ranges::none_of(update.reductions, [&](const std::string& it) {
        return index.affine.uses(it);
      });
    });
  }

  // Temporaries that one tile defines and reads stay in registers. Not behind a sum, whose register
  // tile leaves no room.
  void stage_definitions(std::vector<schedule::PlannedStage>& stages) {
    if (order_.empty() || tile_.lane.empty()) return;
    for (const ir::Statement* s : schedule::inner_definitions(program_, cluster().statements))
      if (schedule::can_stage_accumulator(program_, *s, cluster().statements, false))
        stages.push_back({.tensor = s->writes[0].buffer,
                          .at = {{s->name, order_.back().name}},
                          .memory = schedule::Memory::Register});
  }

  void stages(std::vector<schedule::PlannedStage>& stages) {
    if (!cluster().update()) return stage_definitions(stages);
    const ir::Statement& update = *cluster().update();
    const std::string& sum = update.writes[0].buffer;
    if (!schedule::can_stage_accumulator(program_, update, cluster().statements, order_.empty()))
      return;
    if (order_.empty()) {
      if (has_single_cell(update) && staged_.insert(sum).second)
        stages.push_back({.tensor = sum, .memory = schedule::Memory::Register});
      return;
    }
    stages.push_back({.tensor = sum,
                      .at = {{update.name, order_.back().name}},
                      .memory = schedule::Memory::Register});
    if (tile_.lane.empty()) return;
    std::ranges::move(operand_stages(tiled_reduction(update), staged_), std::back_inserter(stages));
  }

  // Prefetches of operands that are read in place; copies have their own.
  void prefetches(schedule::NestPlan& plan) const {
    if (!cluster().update()) return;
    for (const schedule::TileChoice::Ahead& ahead : tile_.ahead)
      if (std::ranges::find(plan.stages, ahead.operand, &schedule::PlannedStage::tensor) ==
          plan.stages.end())
        plan.prefetches.push_back({.operand = ahead.operand,
                                   .at = {cluster().update()->name, ahead.at},
                                   .along = ahead.along,
                                   .distance = ahead.distance});
  }

  schedule::TiledReduction tiled_reduction(const ir::Statement& update) const {
    std::vector<schedule::PlannedLoop> around;
    for (const schedule::CountedLoop& loop : order_) around.push_back({loop.name, loop.iterator});
    return {&program_,
            &machine_,
            &update,
            {tile_.lane, schedule::Param{"Nr"}, ceil_div(extent(tile_.lane), lane_size())},
            {tile_.row, schedule::Param{"Mr"}, ceil_div(extent(tile_.row), tile_.tile.rows)},
            tile_.packed,
            tile_.in_place,
            around,
            threads()};
  }
};

schedule::Statements statements_of(const Core& nest) {
  schedule::Statements all;
  for (const Cluster* cluster : clusters_of(nest))
    all.insert(all.end(), cluster->statements.begin(), cluster->statements.end());
  return all;
}

// Sums of rows and what is made of them, in one nest that isl fused or in several: how many,
// and their one nest.
// Mapped nests end the search: chains of rows are of plain iterators.
schedule::RowRun rows_of(const schedule::RowQuestion& question, std::span<const Core> nests,
                         int number) {
  std::vector<schedule::Statements> groups;
  for (const Core& nest : nests) {
    if (is_mapped(nest)) break;
    groups.push_back(statements_of(nest));
  }
  return longest_rows(question, groups, number);
}

bool has_no_iterations(const Core& nest, const schedule::State& reference) {
  return std::ranges::any_of(clusters_of(nest), [&](const Cluster* cluster) {
    return std::ranges::any_of(cluster->statements, [&](const ir::Statement* s) {
      return schedule::is_empty(reference, reference.at(s->name));
    });
  });
}

}  // namespace

std::optional<NestSchedule> schedule_for_cpu(const ir::Program& program,
                                             const schedule::State& reference,
                                             const AffineCore& core, const Machine& machine,
                                             const StrategyOptions& options) {
  const std::vector<Core> nests = top_nests(core.root);
  NestSchedule schedule;
  if (auto order = order_of_nests(reference, nests)) schedule.nests.push_back(std::move(*order));
  int number = options.first_number;
  std::set<std::string> staged;
  const schedule::RowQuestion rows_question{&program, &reference, &machine, {}, options.keep_order};
  for (std::size_t i = 0; i < nests.size(); ++i) {
    const Core& nest = nests[i];
    // A tensor without elements: there is nothing to schedule.
    if (has_no_iterations(nest, reference)) continue;
    schedule::RowRun rows;
    if (!options.affine_core_only)
      rows = rows_of(rows_question, std::span(nests).subspan(i), number);
    if (rows.groups > 0) {
      schedule.nests.push_back(std::move(rows.plan));
      ++number;
      i += rows.groups - 1;
      continue;
    }
    if (is_mapped(nest)) {
      auto mapped =
          plan_mapped_nest(program, nest, machine, options.affine_core_only, schedule.nests);
      if (!mapped) return std::nullopt;
      schedule.nests.push_back(*std::move(mapped));
      continue;
    }
    NestStrategy strategy(program, reference, nest, machine, options, number++, staged);
    schedule.loses_tiles = schedule.loses_tiles || strategy.loses_tiles();
    schedule.shares_sums = schedule.shares_sums || strategy.shares_sums();
    schedule.nests.push_back(strategy.run());
  }
  return schedule;
}

}  // namespace polyte::poly
