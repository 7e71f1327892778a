#include "poly/block_nest.h"

#include <algorithm>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "poly/chosen_by_model.h"
#include "poly/shared_nest.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/gpu_tile.h"
#include "schedule/cost/operand_staging.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

using ir::LoopKind;
using schedule::GpuTileSide;
using schedule::LayoutIndex;
using schedule::NestPath;
using schedule::Param;
using schedule::tiles_of;
using schedule::within_tile;

// Steps of a sum that follow each other without a jump: up to so many, and no more than make a
// loop of as many multiply-adds that its counter costs next to nothing. What is read for more of
// them takes registers.
constexpr std::int64_t kMostStepsAtOnce = 4, kMultiplyAdds = 128;

// A side of the tile in the script's words: its loops once it is cut, and the params that cut it.
struct Side {
  GpuTileSide tile;
  bool is_lane = false;
  const char* block = "";  // the param of the block's iterations
  const char* inner = "";  // that which cuts these: a thread's, or of the lanes the threads

  std::int64_t vector = 1;  // neighbours that are one thread's

  bool is_cut() const { return tile.thread > 1 && tile.threads() > 1; }
  bool has_vectors() const { return is_cut() && vector > 1; }
  bool has_chunks() const {
    return tile.thread > vector;
  }  // several vectors per thread, as far apart as all threads reach
  std::string within() const { return within_tile(tile.loop); }

  // The loop over threads and those over a thread's own, of a loop that is cut as the block's
  // iterations are; empty: there is one of each.
  //
  //   rows     base.o threads, base.i own
  //   lanes    base.o own, base.i threads
  //   vectors  base.o own, base.i.o threads, base.i.i own; without several: base.o threads, base.i
  //            own
  std::string threads(const std::string& base) const {
    if (tile.threads() == 1) return "";
    if (!is_cut()) return base;
    if (has_vectors()) return tiles_of(has_chunks() ? within_tile(base) : base);
    return is_lane ? within_tile(base) : tiles_of(base);
  }
  std::vector<std::string> own(const std::string& base) const {
    if (tile.thread == 1) return {};
    if (!is_cut()) return {base};
    if (has_vectors() && has_chunks()) return {tiles_of(base), within_tile(within_tile(base))};
    return {is_lane && !has_vectors() ? tiles_of(base) : within_tile(base)};
  }
  // The same loops as digits of a dimension of the tensor, for the layout.
  LayoutIndex thread_digit(const std::string& name) const {
    using Part = LayoutIndex::Part;
    if (has_vectors() && has_chunks())
      return {name, Part::TileOfSome, schedule::Elements{vector}, tile.threads()};
    if (has_vectors()) return {name, Part::Tile, schedule::Elements{vector}};
    return {name, is_lane ? Part::WithinTile : Part::Tile, Param{inner}};
  }
  std::vector<LayoutIndex> own_digits(const std::string& name) const {
    using Part = LayoutIndex::Part;
    const LayoutIndex within_vector{name, Part::WithinTile, schedule::Elements{vector}},
        chunk{name, Part::Tile, Param{inner}};
    if (has_vectors())
      return has_chunks() ? std::vector{chunk, within_vector} : std::vector{within_vector};
    return {is_lane ? chunk : LayoutIndex{name, Part::WithinTile, Param{inner}}};
  }
};

class BlockPlanner {
 public:
  explicit BlockPlanner(const SumNest& nest)
      : nest_(nest),
        program_(*nest.program),
        update_(nest.update()),
        statements_(nest.cluster->statements),
        blocks_(nest.part) {}

  std::optional<SumPlan> run() {
    if (!has_tiles(nest_) || !choose()) return std::nullopt;
    plan_.number = nest_.number;
    params();
    splits();
    tree();
    keep_sums();
    stage_operands();
    bind();
    return SumPlan{{std::move(plan_)}, tile_.cycles};
  }

 private:
  const SumNest& nest_;
  const ir::Program& program_;
  const ir::Statement& update_;
  const std::vector<const ir::Statement*>& statements_;
  schedule::GpuTile tile_;
  std::vector<Side> sides_;
  BlockGrid blocks_;
  schedule::NestPlan plan_;

  const std::string& sum() const { return update_.writes[0].buffer; }

  bool choose() {
    const std::vector<const ir::Statement*> others = nest_.others();
    schedule::GpuTileQuestion question{
        &program_, &update_, others, {}, ir::free_iterators(update_), nest_.terms};
    for (const std::string& it : update_.iterators)
      question.loops.push_back({it, nest_.extent(it), is_among(it, update_.reductions)});
    tile_ = schedule::choose_gpu_tile(question, *nest_.machine);
    if (tile_.sides.empty()) return false;
    constexpr const char* kBlocks[] = {"Bm", "Bh", "Bn"};
    constexpr const char* kInner[] = {"Tm", "Th", "Wn"};
    for (std::size_t i = 0; i < tile_.sides.size(); ++i) {
      const bool is_lane = i + 1 == tile_.sides.size();
      sides_.push_back({tile_.sides[i], is_lane, kBlocks[is_lane ? 2 : i], kInner[is_lane ? 2 : i],
                        is_lane ? tile_.vector : 1});
    }
    return true;
  }

  void params() {
    const auto define = [&](const char* name, std::int64_t value) {
      plan_.params.push_back({name, schedule::Elements{value}});
    };
    for (const Side& side : sides_) {
      define(side.block, side.tile.block);
      if (side.is_cut() && (side.has_chunks() || !side.has_vectors()))
        define(side.inner, side.is_lane ? side.vector * side.tile.threads() : side.tile.thread);
    }
    if (!tile_.step.empty()) define("Kc", tile_.steps);
  }

  // Threads that have all of their sums run without a guard for each; loops of threads and steps
  // have only their own.
  void splits() {
    const auto split = [&](const ir::Statement& s, const std::string& loop, schedule::TileSize size,
                           bool is_guarded) {
      plan_.splits.emplace_back(
          schedule::PlannedSplit{s.name, loop, std::move(size), kModel, is_guarded});
    };
    for (const ir::Statement* s : statements_)
      for (const Side& side : sides_) {
        split(*s, side.tile.loop, Param{side.block}, !side.is_cut());
        const std::string within = side.within();
        if (side.is_cut() && (side.has_chunks() || !side.has_vectors()))
          split(*s, within, Param{side.inner}, false);
        if (side.has_vectors())
          split(*s, side.has_chunks() ? within_tile(within) : within,
                schedule::Elements{side.vector}, false);
      }
    if (tile_.step.empty()) return;
    split(update_, tile_.step, Param{"Kc"}, true);
    if (is_written_out())
      plan_.splits.emplace_back(schedule::PlannedSplit{update_.name, within_tile(tile_.step),
                                                       schedule::Elements{steps_at_once()}, kModel,
                                                       true});
  }

  // --- the nest

  void tree() {
    for (const std::string& it : ir::free_iterators(update_))
      if (std::ranges::none_of(sides_, [&](const Side& side) { return side.tile.loop == it; }))
        blocks_.add({it, nest_.extent(it)});
    for (const std::string& loop : tile_.grid) {
      const auto side =
          std::ranges::find(sides_, loop, [](const Side& each) { return each.tile.loop; });
      blocks_.add({tiles_of(loop), ceil_div(nest_.extent(loop), side->tile.block)});
    }
    std::vector<schedule::NestTree> leaves;
    for (const ir::Statement* s : statements_) leaves.push_back(leaf(*s));
    plan_.tree = nest_path(blocks_.path(), schedule::nest_sequence(std::move(leaves)));
    plan_.tree_by = kModel;
  }

  std::int64_t steps_at_once() const {
    std::int64_t sums = 1;  // of a thread
    for (const Side& side : sides_) sums *= side.tile.thread;
    std::int64_t steps = kMostStepsAtOnce;
    while (steps > 1 && steps * sums > kMultiplyAdds) steps /= 2;
    return steps;
  }

  // Whether some steps of the sum are written out one after the other: the cut loop is the
  // innermost of the sum, and its slices have several such groups.
  bool is_written_out() const {
    const std::int64_t some = steps_at_once();
    return tile_.step == update_.reductions.back() && some > 1 && tile_.steps % some == 0 &&
           tile_.steps > some;
  }

  schedule::NestTree leaf(const ir::Statement& s) const {
    NestPath path, steps, own;
    for (const Side& side : sides_) {
      if (const std::string loop = side.threads(side.within()); !loop.empty())
        path.push_back({loop});
      for (const std::string& loop : side.own(side.within()))
        own.push_back({loop, LoopKind::Unrolled});
    }
    if (is_side_by_side(s)) own.back().kind = LoopKind::Vector;
    if (&s != &update_) return nest_path(joined(path, own), schedule::nest_statement(s.name));
    const auto& terms = update_.reductions;
    const auto cut = std::ranges::find(terms, tile_.step);
    NestPath slices;  // the order of the terms stays
    if (cut != terms.end()) {
      for (auto loop = terms.begin(); loop != cut; ++loop) slices.push_back({*loop});
      slices.push_back({tiles_of(tile_.step)});
      const std::string step = within_tile(tile_.step);
      if (!is_written_out()) steps.push_back({step});
      if (is_written_out())
        steps.push_back({tiles_of(step)}), steps.push_back({within_tile(step), LoopKind::Unrolled});
    }
    for (auto loop = cut == terms.end() ? terms.begin() : std::next(cut); loop != terms.end();
         ++loop)
      steps.push_back({*loop});
    return nest_path(joined(joined(joined(slices, path), steps), own),
                     schedule::nest_statement(s.name));
  }

  // Whether the statement, a definition behind the sums, reads and writes whole vectors along the
  // lanes.
  bool is_side_by_side(const ir::Statement& s) const {
    const auto is_even = [&](const auto& access) {
      const auto stride = ir::stride_of(program_, access, sides_.back().tile.loop);
      return stride == 0 || stride == 1;
    };
    return sides_.back().has_vectors() && s.combiner == ir::Combiner::None && !s.guard &&
           s.writes[0].buffer != sum() && std::ranges::all_of(s.writes, is_even) &&
           std::ranges::all_of(ir::reads_of(s), [&](const ir::Load* load) {
             return !load->otherwise && is_even(*load);
           });
  }

  // --- storage

  // The layout of the sums in registers: dimensions that only blocks move, digits of the threads,
  // digits within a thread. Without the threads' digits an element's place would be one thread's.
  void keep_sums() {
    const std::vector<ir::Index>& element = update_.writes[0].indices;
    schedule::PlannedStage stage{.tensor = sum(),
                                 .at = {{update_.name, blocks_.inmost()}},
                                 .memory = schedule::Memory::Register};
    std::vector<LayoutIndex> threads, own;
    for (std::size_t d = 0; d < element.size(); ++d) {
      const std::string name = dimension_name(sum(), d);
      stage.dimensions.push_back(name);
      const auto side = std::ranges::find_if(sides_, [&](const Side& each) {
        return element[d].affine.as_symbol() == each.tile.loop;
      });
      if (side == sides_.end() || !side->is_cut()) {
        (side == sides_.end()        ? stage.layout
         : side->tile.threads() == 1 ? own
                                     : threads)
            .push_back({name});
        continue;
      }
      threads.push_back(side->thread_digit(name));
      for (LayoutIndex& digit : side->own_digits(name)) own.push_back(std::move(digit));
    }
    stage.layout.insert(stage.layout.end(), threads.begin(), threads.end());
    stage.layout.insert(stage.layout.end(), own.begin(), own.end());
    plan_.stages.push_back(std::move(stage));
  }

  // The dimension that threads run along is the last one there.
  void stage_operands() {
    const std::string at = tile_.step.empty() ? blocks_.inmost() : tiles_of(tile_.step);
    for (const ir::Load* load : ir::reads_of(update_)) {
      if (tile_.step.empty() && is_read_beside(load->buffer)) continue;
      schedule::PlannedStage stage{
          .tensor = load->buffer, .at = {{update_.name, at}}, .memory = schedule::Memory::Shared};
      const std::size_t last = lane_dimension(*load);
      for (std::size_t d = 0; d < load->indices.size(); ++d) {
        stage.dimensions.push_back(dimension_name(load->buffer, d));
        if (d != last) stage.layout.push_back({stage.dimensions.back()});
      }
      stage.layout.push_back({stage.dimensions[last]});
      const bool is_turned = last + 1 != load->indices.size();
      if (rounds_up()) fill_up(*load, stage.dimensions);
      if (is_turned) stage.pad = padding(*load, last);
      stage.copy_loops = stage.dimensions;  // as the tensor lies in memory
      copy(*load, stage.dimensions, is_turned);
      plan_.stages.push_back(std::move(stage));
    }
  }

  // Whether other statements of the nest read the buffer. A stage of the update's box would not
  // hold what they read.
  bool is_read_beside(const std::string& buffer) const {
    return std::ranges::any_of(nest_.others(),
                               [&](const ir::Statement* s) { return ir::reads(*s, buffer); });
  }

  // The side along which the operand lies in shared memory.
  const GpuTileSide& side_of(const ir::Load& load) const {
    const auto uses = [&](const GpuTileSide& side) {
      return std::ranges::any_of(
          load.indices, [&](const ir::Index& index) { return index.affine.uses(side.loop); });
    };
    const auto side = std::find_if(tile_.sides.rbegin(), tile_.sides.rend(), uses);
    return side == tile_.sides.rend() ? tile_.sides.front() : *side;
  }

  // Columns of the copy go to different banks, and rows are read in whole vectors.
  std::int64_t padding(const ir::Load& load, std::size_t last) const {
    const GpuTileSide& side = side_of(load);
    schedule::TurnedCopy copy{.row = box(load.indices[last]),
                              .neighbours = tile_.turned_at_once(box(load.indices.back()), side),
                              .element_bytes = size_in_bytes(program_.buffer(load.buffer).dtype),
                              .multiple = tile_.read_at_once(side)};
    for (std::size_t d = last + 1; d + 1 < load.indices.size(); ++d)
      copy.neighbours *= box(load.indices[d]);
    return schedule::bank_padding(copy).pad;
  }

  std::size_t lane_dimension(const ir::Load& load) const {
    for (auto side = sides_.rbegin(); side != sides_.rend(); ++side)
      for (std::size_t d = 0; d < load.indices.size(); ++d)
        if (load.indices[d].affine.uses(side->tile.loop)) return d;
    return load.indices.size() - 1;
  }

  void copy(const ir::Load& load, const std::vector<std::string>& dimensions, bool is_turned) {
    std::vector<schedule::CopyLoop> loops;
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      loops.push_back({dimensions[d], box(load.indices[d])});
    const std::string statement = load.buffer + ".in";
    const std::int64_t vector = is_turned ? 1 : schedule::copy_vector(program_, load, ranges());
    if (is_turned)
      turn_sectors(statement, tile_.turned_at_once(loops.back().extent, side_of(load)), loops);
    for (schedule::PlannedStep& each :
         schedule::copy_by_threads(statement, loops, tile_.threads(), vector))
      step(std::move(each));
  }

  // Threads turn a sector of each row at a time, so that what they write meets all banks.
  void turn_sectors(const std::string& statement, std::int64_t at_once,
                    std::vector<schedule::CopyLoop>& loops) {
    const schedule::CopyLoop row = loops.back();
    if (at_once == row.extent) return;
    step(schedule::PlannedSplit{statement, row.name, schedule::Elements{at_once}, kModel, true});
    loops.back() = {within_tile(row.name), at_once};
    loops.insert(loops.begin(), {tiles_of(row.name), row.extent / at_once});
    schedule::PlannedReorder order{statement, {}};
    for (const schedule::CopyLoop& loop : loops) order.loops.push_back(loop.name);
    step(std::move(order));
  }

  // What the tile reads in one slice of the sum, loop by loop.
  std::vector<schedule::CopyRange> ranges() const {
    std::vector<schedule::CopyRange> ranges;
    bool is_inside = tile_.step.empty();
    for (const std::string& it : update_.iterators) {
      is_inside = is_inside || it == tile_.step;
      const std::int64_t extent = nest_.extent(it);
      std::int64_t points = !is_among(it, update_.reductions) || !is_inside ? 1
                            : it == tile_.step                              ? tile_.steps
                                                                            : extent;
      for (const Side& side : sides_)
        if (side.tile.loop == it) points = side.tile.block;
      ranges.push_back({it, extent, points});
    }
    return ranges;
  }
  std::int64_t box(const ir::Index& index) const { return schedule::box_width(index, ranges()); }

  // --- tails

  // Blocks at the edges run whole tiles, on zeros. Were each sum guarded, a warp whose threads
  // differ in what they have would go through one form of the loop after the other: a launch
  // takes as long as its slowest block. Needs every operand in shared memory, where there is
  // room for the zeros.
  bool rounds_up() const {
    const auto is_staged = [&](const ir::Load* load) {
      return !load->otherwise && !(tile_.step.empty() && is_read_beside(load->buffer));
    };
    return std::ranges::any_of(sides_, [&](const Side& side) { return has_rest(side); }) &&
           std::ranges::all_of(ir::reads_of(update_), is_staged);
  }
  // Whether the last block of the side is cut short. A block that holds the whole loop is as long
  // as the loop, and has no rest.
  bool has_rest(const Side& side) const {
    const std::int64_t extent = nest_.extent(side.tile.loop);
    return extent > side.tile.block && extent % side.tile.block != 0;
  }

  void fill_up(const ir::Load& load, const std::vector<std::string>& dimensions) {
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      if (std::ranges::any_of(sides_, [&](const Side& side) {
            return has_rest(side) && load.indices[d].affine.uses(side.tile.loop);
          }))
        step(schedule::PlannedPad{load.buffer, dimensions[d], box(load.indices[d])});
  }

  void round_up() {
    for (const ir::Statement* s : statements_) {
      if (s->writes[0].buffer != sum()) continue;
      for (const Side& side : sides_) {
        const bool is_split = side.is_cut();
        const std::string loop = is_split ? tiles_of(side.within()) : side.within();
        if (has_rest(side)) step(schedule::PlannedTail{{s->name, loop}, true});
      }
    }
  }

  // --- threads and blocks

  void step(schedule::PlannedStep step) { plan_.steps.push_back(std::move(step)); }

  void bind() {
    if (rounds_up()) round_up();
    std::vector<std::string> threads;
    for (const Side& side : sides_)
      if (std::string loop = side.threads(side.within()); !loop.empty())
        threads.push_back(std::move(loop));
    for (const ir::Statement* s : statements_) to_threads(s->name, threads);
    if (leaves_registers()) bind_results();
    blocks_.bind(update_.name, nest_.fresh("b"), plan_.steps);
    if (tile_.depth > 1)
      for (const ir::Load* load : ir::reads_of(update_))
        step(schedule::PlannedPipeline{
            load->buffer, {update_.name, tiles_of(tile_.step)}, tile_.depth});
  }

  void to_threads(const std::string& statement, const std::vector<std::string>& loops) {
    schedule::bind_to_threads(statement, loops, nest_.fresh("t"), plan_.steps);
  }

  // Whether the sums are a result themselves, or read by another nest.
  bool leaves_registers() const {
    return !schedule::stays_inside(program_, sum(), update_, nest_.others());
  }

  // The copy of the sums to memory has the layout's digits as loops, and their threads.
  void bind_results() {
    const std::string statement = sum() + ".out";
    std::vector<std::string> threads, own;
    const std::vector<ir::Index>& element = update_.writes[0].indices;
    for (std::size_t d = 0; d < element.size(); ++d) {
      const std::string name = dimension_name(sum(), d);
      for (const Side& side : sides_) {
        if (element[d].affine.as_symbol() != side.tile.loop) continue;
        if (std::string loop = side.threads(name); !loop.empty())
          threads.push_back(std::move(loop));
        for (std::string& loop : side.own(name)) own.push_back(std::move(loop));
      }
    }
    to_threads(statement, threads);
    const bool has_vectors =
        sides_.back().has_vectors() &&
        ir::stride_of(program_, update_.writes[0], sides_.back().tile.loop) == 1;
    if (!own.empty())
      step(schedule::PlannedBind{statement, own.back(),
                                 has_vectors ? LoopKind::Vector : LoopKind::Unrolled});
  }
};

}  // namespace

std::optional<SumPlan> plan_block_nest(const SumNest& nest) { return BlockPlanner(nest).run(); }

}  // namespace polyte::poly
