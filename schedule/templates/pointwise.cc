// Element-wise definitions: threads share an outer loop, the loop with stride 1 is innermost and in vectors. What
// strides along it is read in square tiles, of the loop along which it does not.
//
//   y[n, c, h, w] = ...      n > par c > h > w.o > <w.i> > y       n of one iteration
//   y[m, n] = x[n, m]        par n.o > m.o > [m.i] > <n.i> > y    x is read along its rows
#include <algorithm>

#include "schedule/cost/lanes.h"
#include "schedule/cost/threads.h"
#include "schedule/cost/tile_choice.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kVectorsAStep = 4;

struct PointwiseShape {
  std::vector<std::string> outer;  // in order, the lane loop not among them
  std::string lane;                // empty: nothing to vectorise
  std::int64_t lane_extent = 0;
  std::string turning;  // the other loop of square tiles; empty: none
};

PointwiseShape shape_of(const ir::Program& program, const ir::Statement& s, const std::vector<IteratorFacts>& facts,
                        std::int64_t lanes) {
  PointwiseShape shape;
  for (const IteratorFacts& fact : facts) {
    std::optional<std::int64_t> write = write_stride(program, s, fact.name);
    if (write == 1 && fact.extent > 1 && can_carry_lanes(program, s, fact.name)) {
      shape.lane = fact.name;
      shape.lane_extent = fact.extent;
    }
  }
  shape.turning = shape.lane.empty() ? "" : turning_loop(program, s, shape.lane);
  const IteratorFacts* turning = find(facts, shape.turning);
  if (!turning || std::min(turning->extent, shape.lane_extent) < lanes) shape.turning.clear();
  for (const IteratorFacts& fact : facts) {
    if (fact.name != shape.lane && fact.name != shape.turning) shape.outer.push_back(fact.name);
  }
  return shape;
}

struct PointwiseNest {
  std::vector<PlannedSplit> splits;
  std::vector<CountedLoop> around;  // outermost first
  NestPath tile;                    // the loops inside
};

// Iterations that write the same elements depend on each other.
bool owns_elements(const ir::Statement& s, const std::string& loop) {
  return std::ranges::any_of(s.writes[0].indices,
                             [&](const ir::Index& index) { return !index.indirect && index.affine.uses(loop); });
}

PointwiseNest nest_of(const ir::Statement& s, const std::vector<IteratorFacts>& facts, const PointwiseShape& shape,
                      std::int64_t lanes) {
  PointwiseNest nest;
  const auto add = [&](const std::string& loop, const std::string& name, std::int64_t size) {
    nest.around.push_back({name, ceil_div(find(facts, loop)->extent, size), owns_elements(s, loop), loop});
  };
  const auto split = [&](const std::string& loop, std::int64_t vectors) {
    nest.splits.push_back({s.name, loop, Vectors{vectors}, Provenance::Template});
  };
  for (const std::string& loop : shape.outer) add(loop, loop, 1);
  if (!shape.turning.empty()) {
    split(shape.turning, 1);
    split(shape.lane, 1);
    add(shape.lane, tiles_of(shape.lane), lanes);
    add(shape.turning, tiles_of(shape.turning), lanes);
    nest.tile = {{within_tile(shape.turning), LoopKind::Unrolled}, {within_tile(shape.lane), LoopKind::Vector}};
  } else if (!shape.lane.empty() && shape.lane_extent > kVectorsAStep * lanes) {
    split(shape.lane, kVectorsAStep);
    add(shape.lane, tiles_of(shape.lane), kVectorsAStep * lanes);
    nest.tile = {{within_tile(shape.lane), LoopKind::Vector}};
  } else if (!shape.lane.empty()) {
    nest.tile = {{shape.lane, LoopKind::Vector}};
  }
  return nest;
}

double cycles_of(const ir::Program& program, const ir::Statement& s, const std::vector<IteratorFacts>& facts,
                 const Machine& machine) {
  TileQuestion question{&program, &s, {}, {}, {}, {}, {}, 1};
  for (const IteratorFacts& fact : facts) {
    question.loops.push_back({fact.name, fact.extent, false});
    question.candidates.push_back(fact.name);
  }
  return choose_tile(question, machine).cycles;
}

}  // namespace

Result<NestPlan> plan_pointwise(KernelSoFar& kernel, const StatementGroup& group) {
  if (!group.plain || group.plain->region_depth > 0 || group.plain->combiner != ir::Combiner::None) {
    const bool is_ordered = group.plain && group.plain->region_depth > 0;
    return Decline{"no template for " + (group.plain ? group.plain->name : "statements") +
                   (is_ordered ? " in an ordered region" : ", which adds to elements that its iterations share")};
  }
  const ir::Statement& s = *group.plain;
  NestPlan plan{.number = kernel.number, .tree_by = Provenance::Template};
  const std::vector<IteratorFacts> facts = facts_of(kernel.reference, s);
  if (facts.empty()) return plan;  // a single point has no loops
  const std::int64_t lanes = kernel.machine.lanes(kernel.program.buffer(s.writes[0].buffer).dtype);
  const PointwiseNest nest = nest_of(s, facts, shape_of(kernel.program, s, facts, lanes), lanes);
  plan.splits.assign(nest.splits.begin(), nest.splits.end());
  const std::string parallel = loop_for_threads(kernel.machine, cycles_of(kernel.program, s, facts, kernel.machine),
                                                nest.around, kernel.program.open);
  plan.tree = nest_path(joined(path_of(nest.around, parallel), nest.tile), nest_statement(s.name));
  return plan;
}

}  // namespace polyte::schedule
