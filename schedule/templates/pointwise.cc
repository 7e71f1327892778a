// Element-wise definitions: parallel outermost, the loop with stride 1 innermost and in vectors. What strides along it
// is read in square tiles, of the loop along which it does not.
//
//   y[n, c, h, w] = ...      par n > c > h > w.o > <w.i> > y
//   y[m, n] = x[n, m]        par n.o > m.o > [m.i] > <n.i> > y    x is read along its rows
#include <algorithm>

#include "schedule/lanes.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

constexpr double kParallelWork = 64 * 1024;  // points below which a parallel region costs more than it gives
constexpr int kVectorsAStep = 4;

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
  const std::int64_t step = std::int64_t{kVectorsAStep} * machine.lanes(type);
  const bool parallel = machine.cores > 1 && work_of(facts) >= kParallelWork;
  std::string path;
  auto append = [&](const std::string& loop) { path += (path.empty() && parallel ? "par " : "") + loop + " > "; };
  for (const std::string& loop : shape.outer) append(loop);
  if (!shape.turning.empty()) {
    script.add("split " + s.name + ": " + shape.turning + " by L, " + shape.lane + " by L   tail cut");
    append(shape.lane + ".o");
    append(shape.turning + ".o");
    path += "[" + shape.turning + ".i] > <" + shape.lane + ".i> > ";
  } else if (!shape.lane.empty() && shape.lane_extent > step) {
    script.add("split " + s.name + ": " + shape.lane + " by " + std::to_string(kVectorsAStep) + "*L tail cut");
    append(shape.lane + ".o");
    path += "<" + shape.lane + ".i> > ";
  } else if (!shape.lane.empty()) {
    path += "<" + shape.lane + "> > ";
  }
  script.add("nest " + path + s.name);
  return true;
}

}  // namespace polyte::schedule
