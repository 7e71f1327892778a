// Reductions with their epilogues: contractions, convolutions, pooling, sums. One nest:
//
//   par f.o > h > row.o > k.o > { tile > acc.init when first k.o; k > tile > acc.update; tile > y when last k.o }
//   tile = [row.i] > <lane.i>, the accumulators in registers, operands in panels where that pays
//
// Lanes, rows, their sizes and the order of the loops around are chosen by cost (schedule/cost/tile_choice.h). Where
// the reduction itself is read element by element, free iterations are lanes all the same and squares are turned in
// registers, which keeps every sum's order:
//
//   par others > lane.o > { <lane.i> > s.init; k.o > [k.i] > <lane.i> > s.update; <lane.i> > y }
//
// Without any lane loop, rows give several independent chains of scalars.
#include <algorithm>
#include <iterator>

#include "schedule/cost/lanes.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/threads.h"
#include "schedule/cost/tile_choice.h"
#include "schedule/cost/tiled_nest.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

class ReductionTemplate {
 public:
  ReductionTemplate(KernelSoFar& kernel, const StatementGroup& group)
      : kernel_(kernel),
        program_(kernel.program),
        machine_(kernel.machine),
        group_(group),
        facts_(facts_of(kernel.reference, *group.update)),
        dtype_(program_.buffer(group.update->writes[0].buffer).dtype) {}

  NestPlan run() {
    choice_ = choose_tile(question(), machine_);
    if (!choice_.lane.empty() && is_worth_threads(machine_, choice_.cycles))
      share_ = lanes_a_thread(choice_, extent(choice_.lane), machine_.lanes(dtype_), machine_.cores);
    const TiledNest nest = tiled_nest();
    NestPlan plan = plan_tiled_nest(nest, kernel_.number);
    stages(nest, plan.stages);
    return plan;
  }
  bool has_loops() const { return !facts_.empty(); }

 private:
  KernelSoFar& kernel_;
  const ir::Program& program_;
  const Machine& machine_;
  const StatementGroup& group_;
  std::vector<IteratorFacts> facts_;
  DType dtype_;
  TileChoice choice_;
  std::int64_t share_ = 0;  // lanes of a thread, cut before all else; 0: none

  const std::string& accumulator() const { return group_.update->writes[0].buffer; }
  std::int64_t extent(const std::string& loop) const { return find(facts_, loop)->extent; }

  std::vector<const ir::Statement*> members() const {
    std::vector<const ir::Statement*> all;
    if (group_.init) all.push_back(group_.init);
    all.push_back(group_.update);
    all.insert(all.end(), group_.epilogue.begin(), group_.epilogue.end());
    return all;
  }

  TileQuestion question() const {
    TileQuestion question{&program_, group_.update, {}, {}, {}, {}, {}, 1};
    for (const ir::Statement* s : members())
      if (s != group_.update) question.others.push_back(s);
    for (const IteratorFacts& fact : facts_) {
      question.loops.push_back({fact.name, fact.extent, fact.reduction});
      if (!fact.reduction) question.candidates.push_back(fact.name);
      if (turns(fact)) question.turned.push_back(fact.name);
    }
    return question;
  }

  // Lanes that stride, turned along the innermost reduction loop.
  bool turns(const IteratorFacts& fact) const {
    const std::int64_t lanes = machine_.lanes(dtype_);
    if (fact.reduction || fact.extent < lanes || group_.update->reductions.empty()) return false;
    const auto suits = [&](const ir::Statement* s) {
      return write_stride(program_, *s, fact.name) == 1 && can_carry_lanes(program_, *s, fact.name);
    };
    const std::string& last = group_.update->reductions.back();
    return std::ranges::all_of(members(), suits) && extent(last) >= lanes &&
           turning_loop(program_, *group_.update, fact.name) == last;
  }

  TileSize lanes() const {
    const std::int64_t whole = std::int64_t{choice_.tile.vectors} * machine_.lanes(dtype_);
    if (whole <= extent(choice_.lane)) return Vectors{choice_.tile.vectors};
    return Elements{extent(choice_.lane)};
  }

  // Of the loop over the iterator around the tile.
  std::int64_t trips(const std::string& iterator) const {
    std::int64_t size = 1;
    if (iterator == choice_.block) size = choice_.block_size;
    if (iterator == choice_.row) size = choice_.tile.rows;
    if (iterator == choice_.outer_row) size = choice_.tile.outer_rows;
    if (iterator == choice_.lane) size = std::int64_t{choice_.tile.vectors} * machine_.lanes(dtype_);
    return ceil_div(extent(iterator), size);
  }

  // Without shares: the loops that the tile leaves.
  std::vector<CountedLoop> loops_of_tiles() const {
    std::vector<CountedLoop> loops;
    for (const PlannedLoop& loop : choice_.order)
      loops.push_back({loop.name, trips(loop.iterator), loop.iterator != choice_.block, loop.iterator});
    return loops;
  }

  TiledNest tiled_nest() const {
    TiledNest nest{.choice = &choice_, .statements = members(), .update = group_.update, .share = share_};
    nest.sizes_by = nest.order_by = Provenance::Template;
    if (!choice_.lane.empty()) nest.lanes = lanes();
    nest.around = loops_of_tiles();
    if (share_ == 0) {
      nest.parallel = loop_for_threads(machine_, choice_.cycles, nest.around, program_.open);
      return nest;
    }
    const std::string tiles = tiles_of(choice_.lane);
    for (CountedLoop& loop : nest.around)
      if (loop.iterator == choice_.lane) loop.name = tiles_of(lane_loop(choice_, share_));
    nest.around.insert(nest.around.begin(), {tiles, machine_.cores, true, choice_.lane});
    nest.parallel = tiles;
    return nest;
  }

  // A loop name that several nests share is said with a statement of this one.
  void stages(const TiledNest& nest, std::vector<PlannedStage>& stages) {
    if (!choice_.order.empty() && can_stage_accumulator(program_, *group_.update, members(), false))
      stages.push_back({.tensor = accumulator(),
                        .at = {{group_.update->name, nest.around.back().name}},
                        .memory = Memory::Register,
                        .by = Provenance::Template});
    if (choice_.lane.empty() || choice_.turned) return;
    const std::int64_t row_panels = choice_.row.empty() ? 0 : trips(choice_.row);
    const TiledReduction tiled{&program_,
                               &machine_,
                               group_.update,
                               {choice_.lane, Param{"Nr"}, trips(choice_.lane)},
                               {choice_.row, Param{"Mr"}, row_panels},
                               choice_.packed,
                               choice_.in_place,
                               choice_.order,
                               Provenance::Template};
    std::ranges::move(operand_stages(tiled, kernel_.staged), std::back_inserter(stages));
  }
};

}  // namespace

Result<NestPlan> plan_reduction(KernelSoFar& kernel, const StatementGroup& group) {
  if (!group.update) return Decline{"not a reduction"};
  ReductionTemplate reduction(kernel, group);
  return reduction.has_loops() ? reduction.run() : NestPlan{};
}

}  // namespace polyte::schedule
