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

struct NestPath {
  std::string splits;               // empty: none
  std::vector<CountedLoop> around;  // outermost first
  std::string tile;                 // the loops inside
};

// Iterations that write the same elements depend on each other.
bool owns_elements(const ir::Statement& s, const std::string& loop) {
  return std::ranges::any_of(s.writes[0].indices,
                             [&](const ir::Index& index) { return !index.indirect && index.affine.uses(loop); });
}

NestPath path_of(const ir::Statement& s, const std::vector<IteratorFacts>& facts, const PointwiseShape& shape,
                 std::int64_t lanes) {
  NestPath path;
  const auto add = [&](const std::string& loop, const std::string& part, std::int64_t size) {
    path.around.push_back({loop + part, ceil_div(find(facts, loop)->extent, size), owns_elements(s, loop)});
  };
  const std::int64_t step = kVectorsAStep * lanes;
  for (const std::string& loop : shape.outer) add(loop, "", 1);
  if (!shape.turning.empty()) {
    path.splits = "split " + s.name + ": " + shape.turning + " by L, " + shape.lane + " by L   tail cut";
    add(shape.lane, ".o", lanes);
    add(shape.turning, ".o", lanes);
    path.tile = "[" + shape.turning + ".i] > <" + shape.lane + ".i> > ";
  } else if (!shape.lane.empty() && shape.lane_extent > step) {
    path.splits = "split " + s.name + ": " + shape.lane + " by " + std::to_string(kVectorsAStep) + "*L tail cut";
    add(shape.lane, ".o", step);
    path.tile = "<" + shape.lane + ".i> > ";
  } else if (!shape.lane.empty()) {
    path.tile = "<" + shape.lane + "> > ";
  }
  return path;
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

bool schedule_pointwise(const ir::Program& program, const State& reference, const Machine& machine,
                        const NestPlan& plan, ScriptText& script, std::string& reason) {
  if (!plan.plain || plan.plain->region_depth > 0 || plan.plain->combiner != ir::Combiner::None) {
    const bool is_ordered = plan.plain && plan.plain->region_depth > 0;
    reason = "no template for " + (plan.plain ? plan.plain->name : "statements") +
             (is_ordered ? " in an ordered region" : ", which adds to elements that its iterations share");
    return false;
  }
  const ir::Statement& s = *plan.plain;
  const std::vector<IteratorFacts> facts = facts_of(reference, s);
  if (facts.empty()) return true;  // a single point has no loops
  const DType type = program.buffer(s.writes[0].buffer).dtype;
  const PointwiseShape shape = shape_of(program, s, facts, machine.lanes(type));
  const NestPath path = path_of(s, facts, shape, machine.lanes(type));
  if (!path.splits.empty()) script.add(path.splits);
  const std::string parallel =
      loop_for_threads(machine, cycles_of(program, s, facts, machine), path.around, program.open);
  std::string around;
  for (const CountedLoop& loop : path.around) around += (loop.name == parallel ? "par " : "") + loop.name + " > ";
  script.add("nest " + around + path.tile + s.name);
  return true;
}

}  // namespace polyte::schedule
