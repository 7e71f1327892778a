#include "poly/warp_nest.h"

#include <algorithm>
#include <bit>

#include "ir/loop_program.h"
#include "ir/relations.h"
#include "poly/chosen_by_model.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/warp_tile.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using ir::LoopKind;
using schedule::NestPath;
using schedule::Param;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kRowBytes = 16;  // of ldmatrix

// A side of the tile in the script's words: its loops once it is cut three times, and the params
// that cut it.
struct Side {
  std::string loop;
  const char *block, *warp;  // params: iterations of the block, of the warp
  std::int64_t tile;         // of the instruction
  std::string within() const { return within_tile(loop); }
  std::string warps() const { return tiles_of(within()); }
  std::string tiles() const { return tiles_of(within_tile(within())); }
  std::string point() const { return within_tile(within_tile(within())); }
};

class WarpPlanner {
 public:
  explicit WarpPlanner(const SumNest& nest)
      : nest_(nest),
        program_(*nest.program),
        update_(nest.update()),
        statements_(nest.cluster->statements),
        blocks_(nest.part) {
    for (const ir::Statement* s : schedule::inner_definitions(program_, statements_)) {
      // A definition that the matrix instruction's fragments cannot take part in would run through
      // memory, by one lane of each warp: it is inlined into what reads it.
      plan_.inlined.push_back({s->writes[0].buffer});
      std::erase(statements_, s);
    }
  }

  std::optional<SumPlan> run() {
    if (!choose()) return std::nullopt;
    plan_.number = nest_.number;
    params();
    splits();
    tree();
    stages();
    steps();
    return SumPlan{{std::move(plan_)}, tile_.cycles};
  }

 private:
  const SumNest& nest_;
  const ir::Program& program_;
  const ir::Statement& update_;
  std::vector<const ir::Statement*> statements_;  // but those that are inlined
  std::vector<schedule::PricedLoop> loops_;
  schedule::WarpTile tile_;
  std::vector<Side> sides_;  // rows, lanes
  BlockGrid blocks_;
  schedule::NestPlan plan_;

  const std::string& sum() const { return update_.writes[0].buffer; }
  const schedule::WarpProduct& product() const { return tile_.product; }
  std::string slices() const { return tiles_of(product().step.loop); }

  bool choose() {
    const auto products =
        schedule::warp_products(program_, update_, *nest_.machine, nest_.keep_order);
    if (products.empty() || !has_tiles(nest_)) return false;
    for (const std::string& it : update_.iterators)
      loops_.push_back({it, nest_.extent(it),
                        std::ranges::find(update_.reductions, it) != update_.reductions.end()});
    const std::vector<const ir::Statement*> others = nest_.others();
    const auto tile = schedule::choose_warp_tile({&program_, &update_, others, loops_, nest_.terms},
                                                 products, *nest_.machine);
    if (!tile) return false;
    tile_ = *tile;
    sides_ = {{product().row.loop, "Bm", "Wm", product().row.tile},
              {product().lane.loop, "Bn", "Wn", product().lane.tile}};
    return true;
  }

  void params() {
    const std::pair<const char*, std::int64_t> values[] = {{"Bm", tile_.block_rows},
                                                           {"Bn", tile_.block_lanes},
                                                           {"Wm", tile_.warp_rows},
                                                           {"Wn", tile_.warp_lanes},
                                                           {"Kc", tile_.steps}};
    for (const auto& [name, value] : values)
      plan_.params.push_back({name, schedule::Elements{value}});
    if (product().instruction->rounds)
      plan_.reassociated.insert(update_.reductions.begin(), update_.reductions.end());
  }

  // Each side is cut three times: m -> m.o (blocks), m.i.o (warps), m.i.i.o (tiles of the
  // instruction), m.i.i.i (points of a tile).
  void splits() {
    const auto split = [&](const ir::Statement& s, const std::string& loop,
                           schedule::TileSize size) {
      plan_.splits.emplace_back(
          schedule::PlannedSplit{s.name, loop, std::move(size), kModel, true});
    };
    for (const ir::Statement* s : statements_)
      for (const Side& side : sides_) {
        split(*s, side.loop, Param{side.block});
        split(*s, side.within(), Param{side.warp});
        split(*s, within_tile(side.within()), schedule::Elements{side.tile});
      }
    split(update_, product().step.loop, Param{"Kc"});
    split(update_, within_tile(product().step.loop), schedule::Elements{product().step.tile});
  }

  // --- the nest

  void tree() {
    for (const std::string& it : ir::free_iterators(update_))
      if (std::ranges::none_of(sides_, [&](const Side& side) { return side.loop == it; }))
        blocks_.add({it, nest_.extent(it)});
    std::vector<GridLoop> grid = {
        {tiles_of(sides_[0].loop), ceil_div(nest_.extent(sides_[0].loop), tile_.block_rows)},
        {tiles_of(sides_[1].loop), ceil_div(nest_.extent(sides_[1].loop), tile_.block_lanes)}};
    if (tile_.rows_inside) std::swap(grid[0], grid[1]);
    for (GridLoop& loop : grid) blocks_.add(std::move(loop));
    std::vector<schedule::NestTree> leaves;
    for (const ir::Statement* s : statements_) leaves.push_back(leaf(*s));
    plan_.tree = nest_path(blocks_.path(), schedule::nest_sequence(std::move(leaves)));
    plan_.tree_by = kModel;
  }

  // Tiles of the instruction are written out, as their sums are named registers; the points below
  // are the instruction itself.
  NestPath tiles() const {
    NestPath path;
    for (const Side& side : sides_) path.push_back({side.tiles(), LoopKind::Unrolled});
    for (const Side& side : sides_) path.push_back({side.point()});
    return path;
  }

  // The update, from outside: sum loops other than the step's, slices of the step (whose copies
  // threads share), warps, the instruction's steps of a slice, tiles. The sum loops come inside of
  // the slices where the tile says so.
  schedule::NestTree leaf(const ir::Statement& s) const {
    const NestPath warps = {{sides_[0].warps()}, {sides_[1].warps()}};
    if (&s != &update_) return nest_path(joined(warps, tiles()), schedule::nest_statement(s.name));
    const std::string step = within_tile(product().step.loop);
    NestPath around, inside;
    for (const std::string& it : update_.reductions)
      if (it != product().step.loop) (tile_.steps_inside ? inside : around).push_back({it});
    around.push_back({slices()});
    inside.push_back({tiles_of(step), LoopKind::Unrolled});
    const NestPath path = joined(joined(joined(around, warps), inside), tiles());
    return nest_path(joined(path, {{within_tile(step)}}), schedule::nest_statement(s.name));
  }

  // --- storage

  // The sums in registers of their warps, a slice of each operand in shared memory.
  void stages() {
    add_stage(sum(), blocks_.inmost(), schedule::Memory::Register,
              update_.writes[0].indices.size());
    for (const ir::Load* load : ir::reads_of(update_)) {
      const schedule::WarpOperand operand = schedule::warp_operand(program_, *load, tile_, loops_);
      schedule::PlannedStage& stage =
          add_stage(load->buffer, slices(), schedule::Memory::Shared, operand.box.size());
      // The copy runs in the tensor's order, for whole sectors; in shared memory the dimension that
      // ldmatrix reads in rows is the last.
      stage.copy_loops = stage.dimensions;  // as the tensor lies in memory
      const auto inmost = stage.layout.begin() + static_cast<std::ptrdiff_t>(operand.inmost);
      std::rotate(inmost, inmost + 1, stage.layout.end());
      fill_up(*load, operand);
      if (std::has_single_bit(static_cast<std::uint64_t>(operand.box[operand.inmost])))
        step(schedule::PlannedSwizzle{
            load->buffer, kRowBytes / size_in_bytes(program_.buffer(load->buffer).dtype)});
      copy(load->buffer, operand);
    }
  }

  schedule::PlannedStage& add_stage(const std::string& tensor, const std::string& at,
                                    schedule::Memory memory, std::size_t dimensions) {
    schedule::PlannedStage& stage = plan_.stages.emplace_back(
        schedule::PlannedStage{.tensor = tensor, .at = {{update_.name, at}}, .memory = memory});
    for (std::size_t d = 0; d < dimensions; ++d) {
      stage.dimensions.push_back(dimension_name(tensor, d));
      stage.layout.push_back({stage.dimensions.back()});
    }
    return stage;
  }

  // Where a tile reaches beyond the operand, the rest of its box in shared memory is zeros.
  void fill_up(const ir::Load& load, const schedule::WarpOperand& operand) {
    const std::pair<std::string, std::int64_t> sides[] = {{product().row.loop, tile_.block_rows},
                                                          {product().lane.loop, tile_.block_lanes},
                                                          {product().step.loop, tile_.steps}};
    if (std::ranges::none_of(sides, [&](const auto& side) {
          return std::ranges::any_of(
                     load.indices,
                     [&](const ir::Index& index) { return index.affine.uses(side.first); }) &&
                 nest_.extent(side.first) % side.second != 0;
        }))
      return;
    for (std::size_t d = 0; d < operand.box.size(); ++d)
      if (operand.box[d] > 1)
        step(schedule::PlannedPad{load.buffer, dimension_name(load.buffer, d), operand.box[d]});
  }

  void copy(const std::string& tensor, const schedule::WarpOperand& operand) {
    std::vector<schedule::CopyLoop> loops;
    for (std::size_t d = 0; d < operand.box.size(); ++d)
      loops.push_back({dimension_name(tensor, d), operand.box[d]});
    for (schedule::PlannedStep& each : schedule::copy_by_threads(
             tensor + ".in", loops, tile_.warps() * ir::kLanes, operand.vector))
      step(std::move(each));
  }

  // --- warps and blocks

  void step(schedule::PlannedStep step) { plan_.steps.push_back(std::move(step)); }

  void steps() {
    for (const ir::Statement* s : statements_)
      to_warps(s->name, {sides_[0].warps(), sides_[1].warps()});
    if (!schedule::stays_inside(program_, sum(), update_, nest_.others())) results();
    blocks_.bind(update_.name, nest_.fresh("b"), plan_.steps);
    if (tile_.depth > 1)
      for (const ir::Load* load : ir::reads_of(update_))
        step(schedule::PlannedPipeline{load->buffer, {update_.name, slices()}, tile_.depth});
    step(
        schedule::PlannedTensorize{{update_.name, sides_[0].point()}, product().instruction->name});
  }

  void to_warps(const std::string& statement, const std::vector<std::string>& loops) {
    const std::string name = nest_.fresh("t");
    step(schedule::PlannedFuse{statement, loops, name});
    step(schedule::PlannedBind{statement, name, LoopKind::Warp});
  }

  // Where the sums are a result, or read by another nest, each warp copies its own to memory. The
  // copy's loops over warps come in the order of the sides, as where they sum, in whichever
  // dimension of the tensor each side is.
  void results() {
    const std::string out = sum() + ".out";
    NestPath warps, tiles, points;
    const std::vector<ir::Index>& element = update_.writes[0].indices;
    for (const Side& side : sides_)
      for (std::size_t d = 0; d < element.size(); ++d) {
        if (element[d].affine.as_symbol() != side.loop) continue;
        const std::string name = dimension_name(sum(), d);
        step(schedule::PlannedSplit{out, name, Param{side.warp}, kModel, true});
        step(schedule::PlannedSplit{out, within_tile(name), schedule::Elements{side.tile}, kModel,
                                    true});
        warps.push_back({tiles_of(name)});
        tiles.push_back({tiles_of(within_tile(name))});
        points.push_back({within_tile(within_tile(name))});
      }
    schedule::PlannedReorder order{out, {}};
    for (const schedule::NestLoop& loop : joined(joined(warps, tiles), points))
      order.loops.push_back(loop.name);
    step(std::move(order));
    for (const schedule::NestLoop& loop : tiles)
      step(schedule::PlannedBind{out, loop.name, LoopKind::Unrolled});
    to_warps(out, {warps[0].name, warps[1].name});
  }
};

}  // namespace

std::optional<SumPlan> plan_warp_nest(const SumNest& nest) { return WarpPlanner(nest).run(); }

}  // namespace polyte::poly
