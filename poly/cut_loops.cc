#include "poly/cut_loops.h"

#include <algorithm>

#include "poly/loop_extents.h"
#include "schedule/cost/threads.h"
#include "schedule/script/nest_pattern.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using Steps = std::vector<schedule::PlannedStep>;

// The one iteration of a loop over `it` that writes what its other iterations read, or reads what
// they write: j = k of A[i, j] = f(A[i, k]). Over the statement's other iterators; nullopt where
// there are none, or several.
std::optional<ir::Affine> meeting_point(const ir::Statement& statement, const std::string& it) {
  if (std::ranges::find(statement.iterators, it) == statement.iterators.end()) return std::nullopt;
  const ir::Access& write = statement.writes.front();
  std::optional<ir::Affine> point;
  for (const ir::Expr& value : statement.values)
    for (const ir::Load* load : ir::loads_of(value)) {
      if (load->buffer != write.buffer) continue;
      for (std::size_t d = 0; d < write.indices.size(); ++d) {
        const ir::Affine &there = write.indices[d].affine, &here = load->indices[d].affine;
        if (there.coefficient(it) != 1 || here.uses(it)) continue;
        const ir::Affine at = here - (there - ir::Affine::symbol(it));
        if (point && *point != at) return std::nullopt;
        point = at;
      }
    }
  return point;
}

// Before the meeting point, at it, and after it: names of the parts, and of their loops.
struct Parts {
  struct Part {
    std::string statement, loop;
  } below, at, above;
};

Parts cut(const std::string& statement, const std::string& loop, const ir::Affine& point,
          Steps& steps) {
  const std::string other = statement + ".rest", rest = loop + ".rest";
  const Parts parts{{statement + ".lo", loop + ".lo"},
                    {other + ".at", loop + ".at"},
                    {other + ".hi", loop + ".hi"}};
  steps.emplace_back(schedule::PlannedCut{{statement, loop}, point, parts.below.loop, rest});
  steps.emplace_back(
      schedule::PlannedCut{{other, rest}, point + 1, parts.at.loop, parts.above.loop});
  return parts;
}

Parts cut_for_lanes(const std::string& statement, const std::string& loop, const ir::Affine& point,
                    Steps& steps) {
  Parts parts = cut(statement, loop, point, steps);
  for (const auto& [part, lanes] : {parts.below, parts.above})
    steps.emplace_back(schedule::PlannedBind{part, lanes, LoopKind::Vector});
  return parts;
}

// Whether the statement is the only one in the loop of this name around it.
bool is_alone(const schedule::NestTree& nest, const std::string& loop,
              const std::string& statement) {
  if (const auto* sequence = std::get_if<schedule::NestSequence>(&nest->op))
    return std::ranges::any_of(sequence->children, [&](const schedule::NestTree& child) {
      return is_alone(child, loop, statement);
    });
  const auto* here = std::get_if<schedule::NestLoop>(&nest->op);
  if (!here) return false;
  return here->name == loop ? schedule::statements_in(here->body) == std::set{statement}
                            : is_alone(here->body, loop, statement);
}

// Whether threads are worth it in each run of the loop. Those outside it come before it among the
// iterators.
bool is_worth_threads(const ir::Program& program, const ir::Statement& statement,
                      const OrderPlan::Inner& inner, const Machine& machine) {
  std::vector<ir::Affine> rows;
  for (const std::string& it : statement.iterators) rows.push_back(ir::Affine::symbol(it));
  const LoopExtents extents(program, statement, rows);
  double runs = 1;
  for (std::size_t r = 0; statement.iterators[r] != inner.around; ++r) runs *= extents.extent(r);
  return schedule::is_worth_threads(machine, inner.cycles / runs);
}

}  // namespace

std::vector<Steps> cuts_of(const ir::Program& program, const schedule::NestTree& nest,
                           const ir::Statement& statement, const OrderPlan::Inner& inner,
                           const Machine& machine) {
  const auto point = meeting_point(statement, inner.loop);
  if (!point) return {};
  std::vector<Steps> ways;
  if (const auto row = meeting_point(statement, inner.around);
      row && is_alone(nest, inner.around, statement.name) &&
      is_worth_threads(program, statement, inner, machine)) {
    Steps& steps = ways.emplace_back();
    const Parts rows = cut(statement.name, inner.around, *row, steps);
    for (const Parts::Part& part : {rows.below, rows.at, rows.above}) {
      const Parts lanes = cut_for_lanes(part.statement, inner.loop, *point, steps);
      if (part.loop != rows.at.loop)
        steps.emplace_back(
            schedule::PlannedBind{lanes.below.statement, part.loop, LoopKind::Parallel});
    }
  }
  cut_for_lanes(statement.name, inner.loop, *point, ways.emplace_back());
  return ways;
}

}  // namespace polyte::poly
