// Roles of templates for definitions, element by element: the loop with stride 1 carries the lanes.
// What strides along it is read in square tiles, of the loop along which it does not.
//
//   y[n, c, h, w] = ...      around n, c, h   lane w
//   y[m, n] = x[n, m]        lane n, turning m: x is read along its rows
//   y[h, w] = x[h // 2, w // 2]        lane w in two phases
//   y[h, w] = x[h // 8, w // 8]        lane w in blocks of eight
#include <algorithm>

#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
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
  std::string turning;             // the other loop of square tiles; empty: none
  std::int64_t side = 0;           // of these squares
  std::int64_t phases = 1;         // of the lane loop, each in vectors of its own
  std::int64_t block = 0;          // of the lane loop, in which lanes advance evenly; 0: all do
};

PointwiseShape shape_of(const KernelSoFar& kernel, const StatementGroup& group,
                        const std::vector<IteratorFacts>& facts) {
  const ir::Program& program = kernel.program;
  const ir::Statement& s = *group.plain;
  const std::vector<const ir::Statement*> all = statements_of(group);
  const std::int64_t lanes = kernel.machine.lanes(program.buffer(s.writes[0].buffer).dtype);
  PointwiseShape shape;
  for (const IteratorFacts& fact : facts)
    if (fact.extent > 1 && std::ranges::all_of(all, [&](const ir::Statement* each) {
          return fills_lines(program, *each, fact.name, all) &&
                 can_carry_lanes(program, *each, fact.name);
        }))
      shape.lane = fact.name;
  // The ways to fill vectors, the best first: plain lanes, with squares for reads across them;
  // phases of a loop that is divided by a few; blocks of a loop that is divided by half a vector or
  // more.
  if (!shape.lane.empty()) shape.turning = turning_loop(program, s, shape.lane);
  if (const IteratorFacts* turning = find(facts, shape.turning)) {
    shape.side = square_side(find(facts, shape.lane)->extent, lanes);
    if (turning->extent < shape.side) shape.turning.clear();
  }
  if (const auto phases = lane_phases(program, s);
      phases && shape.lane.empty() && program.open.empty())
    if (phases->fill_vectors(find(facts, phases->loop)->extent, lanes))
      shape.lane = phases->loop, shape.phases = phases->count;
  for (const IteratorFacts& fact : facts) {
    if (!shape.lane.empty() || all.size() > 1 || write_stride(program, s, fact.name) != 1) continue;
    const auto block = lane_block(program, all, fact.name, lanes);
    if (block && fact.extent >= *block) shape.lane = fact.name, shape.block = *block;
  }
  for (const IteratorFacts& fact : facts)
    if (fact.name != shape.lane && fact.name != shape.turning) shape.outer.push_back(fact.name);
  return shape;
}

// Only a loop that moves the written element can be shared by threads: iterations that write the
// same elements depend on each other.
bool owns_elements(const ir::Statement& s, const std::string& loop) {
  return std::ranges::any_of(s.writes[0].indices, [&](const ir::Index& index) {
    return !index.indirect && index.affine.uses(loop);
  });
}

// Priced as a sum without reduction loops: the cost model's tile of the statement alone.
double cycles_of(const KernelSoFar& kernel, const ir::Statement& s,
                 const std::vector<IteratorFacts>& facts) {
  TileQuestion question{.program = &kernel.program, .main = &s};
  for (const IteratorFacts& fact : facts) {
    question.loops.push_back({fact.name, fact.extent, false});
    question.candidates.push_back(fact.name);
  }
  return choose_tile(question, kernel.machine).cycles;
}

struct PointwiseNest {
  const KernelSoFar& kernel;
  const ir::Statement& s;
  std::vector<const ir::Statement*> after;
  std::vector<IteratorFacts> facts;
  PointwiseShape shape;
  DType dtype;

  // The loops around the lanes, as the template has them.
  std::vector<CountedLoop> around(const TemplateFile& file, const Scope& scope) const {
    std::vector<CountedLoop> loops;
    const auto add = [&](const std::string& name, const std::string& loop, std::int64_t size) {
      loops.push_back(
          {name, ceil_div(find(facts, loop)->extent, size), owns_elements(s, loop), loop});
    };
    for (const std::string& item : file.around) {
      const std::string role = item.substr(0, item.find('.'));
      const auto loop = scope.names.find(role);
      if (role == "free")
        for (const std::string& outer : shape.outer) add(outer, outer, 1);
      else if (loop != scope.names.end() && !loop->second.empty())
        add(loop->second + item.substr(role.size()), loop->second,
            shape.block > 0 ? shape.block
            : !shape.turning.empty()
                ? shape.side
                : kernel.machine.lanes(dtype) * (shape.phases > 1 ? shape.phases : kVectorsAStep));
    }
    return loops;
  }

  double cycles() const {
    double sum = cycles_of(kernel, s, facts);
    for (const ir::Statement* each : after)
      sum += cycles_of(kernel, *each, facts_of(kernel.reference, *each));
    return sum;
  }

  Filling fill_holes(const TemplateFile& file) const {
    const std::string stepping =
        stepping_loop(kernel.program, s, shape.lane, shape.turning, shape.side, kernel.machine);
    Filling filling;
    filling.staged = kernel.staged;
    filling.scope.names = {{"define", s.name},
                           {"lane", shape.lane},
                           {"turning", shape.turning},
                           {"along", shape.turning.empty() ? "" : stepping},
                           {"across", shape.turning.empty()    ? ""
                                      : stepping == shape.lane ? shape.turning
                                                               : shape.lane},
                           {"inmost", shape.outer.empty() ? "" : shape.outer.back()}};
    filling.scope.lists["free"] = shape.outer;
    if (shape.block > 0) filling.values["Block"] = std::to_string(shape.block);
    if (!shape.turning.empty()) filling.values["Side"] = std::to_string(shape.side);
    if (shape.phases > 1) filling.values["Phases"] = std::to_string(shape.phases);
    add_chain(filling.scope, kernel.program, s, after);
    filling.scope.names["threads"] = loop_for_threads(
        kernel.machine, cycles(), around(file, filling.scope), kernel.program.open);
    return filling;
  }
};

}  // namespace

OpenNest open_pointwise(const KernelSoFar& kernel, const StatementGroup& group) {
  const ir::Statement& s = *group.plain;
  const std::vector<IteratorFacts> facts = facts_of(kernel.reference, s);
  const DType dtype = kernel.program.buffer(s.writes[0].buffer).dtype;
  const PointwiseNest nest{kernel, s, group.epilogue, facts, shape_of(kernel, group, facts), dtype};
  const char* const structure = nest.shape.phases > 1        ? "phases"
                                : nest.shape.block > 0       ? "blocks"
                                : nest.shape.turning.empty() ? "pointwise"
                                                             : "transpose";
  OpenNest open{
      structure, machine_facts(kernel.machine, dtype),
      [nest](const TemplateFile& file) -> Result<Filling> { return nest.fill_holes(file); }};
  open.facts["lane_extent"] = nest.shape.lane.empty() ? 0 : find(facts, nest.shape.lane)->extent;
  return open;
}

}  // namespace polyte::schedule
