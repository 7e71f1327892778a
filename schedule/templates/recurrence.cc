// Roles of the template for a statement that is alone in an ordered region and reads what it
// wrote in steps before.
//
//   loop t in 1..N
//     y[b, t] = y[b, t-1] + x[b, t]        steps t, row b
//     y[t, c] = y[t-1, c] + x[t, c]        steps t, lane c
#include <algorithm>
#include <cstdlib>

#include "ir/relations.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/threads.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kChains = 8;          // side by side: more than an addition takes cycles
constexpr std::int64_t kVectorsOfLanes = 8;  // as many chains
constexpr double kCyclesOfStep = 1.5;

const IteratorFacts* longest(const std::vector<IteratorFacts>& facts,
                             const std::vector<std::string>& among) {
  const IteratorFacts* best = nullptr;
  for (const std::string& it : among)
    if (const IteratorFacts* fact = find(facts, it);
        fact->extent > 1 && (!best || fact->extent > best->extent))
      best = fact;
  return best;
}

// Elements of different iterations of the loop are never the same: one step of it moves the
// subscript further than `distance` and all steps of the other loops together, |c_loop| >
// |distance| + sum over the others of |c_i| * (extent_i - 1).
bool parts_elements(const ir::Affine& subscript, std::int64_t distance,
                    const std::vector<IteratorFacts>& facts, const std::string& loop) {
  std::int64_t others = std::abs(distance);
  for (const IteratorFacts& fact : facts)
    if (fact.name != loop)
      others = checked_add(
          others, checked_mul(std::abs(subscript.coefficient(fact.name)), fact.extent - 1));
  return std::abs(subscript.coefficient(loop)) > others;
}

// No iteration of the loop reads or writes what another one writes: some dimension keeps their
// elements apart, for the write against itself and against each read of the same tensor.
bool is_free(const ir::Statement& s, const std::vector<IteratorFacts>& facts,
             const std::string& loop) {
  const ir::Access& write = s.writes.front();
  const auto is_apart = [&](const std::vector<ir::Index>& other) {
    for (std::size_t d = 0; d < write.indices.size(); ++d) {
      const ir::Affine distance = other[d].affine - write.indices[d].affine;
      if (other[d].indirect || write.indices[d].indirect || !distance.is_constant()) continue;
      if (parts_elements(write.indices[d].affine, distance.constant(), facts, loop)) return true;
    }
    return false;
  };
  return is_apart(write.indices) && std::ranges::all_of(ir::reads_of(s), [&](const ir::Load* load) {
           return load->buffer != write.buffer || is_apart(load->indices);
         });
}

// Whether the statement is the only one of its region. With others the order between them would
// have to be kept as well.
bool is_alone(const ir::Program& program, const ir::Statement& s) {
  return std::ranges::any_of(program.order, [&](const ir::Item& item) {
    const auto* region = std::get_if<ir::Region>(&item);
    const auto* only = region && region->body.size() == 1
                           ? std::get_if<std::size_t>(&region->body.front())
                           : nullptr;
    return only && &program.statements[*only] == &s;
  });
}

struct RecurrenceNest {
  const KernelSoFar& kernel;
  const ir::Statement& s;
  std::vector<IteratorFacts> facts;
  std::string lane, row;
  std::vector<std::string> free;

  Result<Filling> fill_holes() const {
    if (lane.empty() && row.empty())
      return Decline{"each of its instances needs the one before it"};
    const DType type = kernel.program.buffer(s.writes[0].buffer).dtype;
    // Without lanes several rows run side by side: each is a chain of additions that wait for each
    // other, and the chains fill each other's waits.
    const std::int64_t rows = row.empty() ? 1 : std::min(kChains, find(facts, row)->extent);
    Filling filling;
    filling.staged = kernel.staged;
    filling.scope.names = {
        {"define", s.name}, {"lane", lane}, {"row", row}, {"steps", s.iterators.front()}};
    filling.scope.lists["free"] = free;
    if (!row.empty()) filling.values["R"] = std::to_string(rows);
    std::vector<CountedLoop> around;
    double steps = 1;
    for (const IteratorFacts& fact : facts)
      steps *= static_cast<double>(std::max<std::int64_t>(1, fact.extent));
    const auto add = [&](const std::string& name, const std::string& loop, std::int64_t size) {
      around.push_back({name, ceil_div(find(facts, loop)->extent, size), true, loop});
    };
    for (const std::string& outer : free) add(outer, outer, 1);
    if (!row.empty()) add(row + ".o", row, rows);
    if (!lane.empty()) add(lane + ".o", lane, kVectorsOfLanes * kernel.machine.lanes(type));
    filling.scope.names["threads"] = loop_for_threads(
        kernel.machine, kCyclesOfStep * steps / static_cast<double>(lane.empty() ? 1 : kChains),
        around, kernel.program.open);
    return filling;
  }
};

}  // namespace

std::optional<OpenNest> open_recurrence(const KernelSoFar& kernel, const StatementGroup& group) {
  const ir::Statement& s = *group.plain;
  if (s.region_depth != 1 || !is_alone(kernel.program, s)) return std::nullopt;
  RecurrenceNest nest{kernel, s, facts_of(kernel.reference, s), "", "", {}};
  for (std::size_t i = 1; i < s.iterators.size(); ++i)
    if (is_free(s, nest.facts, s.iterators[i])) nest.free.push_back(s.iterators[i]);
  // All loops but the first, the region's steps, have to be free.
  if (nest.free.size() + 1 < s.iterators.size()) return std::nullopt;
  for (const std::string& it : nest.free)
    if (write_stride(kernel.program, s, it) == 1 && find(nest.facts, it)->extent > 1 &&
        can_carry_lanes(kernel.program, s, it))
      nest.lane = it;
  if (const IteratorFacts* most = nest.lane.empty() ? longest(nest.facts, nest.free) : nullptr)
    nest.row = most->name;
  std::erase_if(nest.free,
                [&](const std::string& it) { return it == nest.lane || it == nest.row; });
  OpenNest open{"recurrence",
                machine_facts(kernel.machine, kernel.program.buffer(s.writes[0].buffer).dtype),
                [nest](const TemplateFile&) { return nest.fill_holes(); }};
  open.facts["lane_extent"] = nest.lane.empty() ? 0 : find(nest.facts, nest.lane)->extent;
  return open;
}

}  // namespace polyte::schedule
