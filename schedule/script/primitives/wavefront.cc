// wavefront w = t + 2*i for t:   t > i > j > body   ->   w > par i > j > body,   w = t + 2*i.
// Iterations of i on one front do not depend on each other: a map, the order with w outside, and
// a parallel loop in one step, proved together. The replaced loop and the loops of the expression
// are a perfect nest.
#include <algorithm>

#include "schedule/script/affine_expr.h"
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

namespace {

// Loops of the expression, outermost first, in the nest of the first owner.
Result<std::vector<std::string>, Refusal> loops_of(const State& state, const Wavefront& directive,
                                                   const PrimitiveContext& context,
                                                   std::string& owner) {
  const auto owners = owners_of(state, {directive.statement, directive.replaced});
  if (!owners) return owners.error();
  owner = owners->front();
  const std::vector<std::string> owned = owned_loops(state, owner);
  const auto value =
      parse_affine(directive.value.text, owned, "loops of " + owner, context.environment.values);
  if (!value) return malformed(value.error().reason);
  std::vector<std::string> used;
  for (const std::string& loop : owned)
    if (value->uses(loop)) used.push_back(loop);
  if (std::ranges::find(used, directive.replaced) == used.end())
    return malformed("'" + directive.value.text + "' does not use " + directive.replaced +
                     ", the loop that the wavefront replaces");
  if (used.size() < 2)
    return malformed("'" + directive.value.text +
                     "' uses one loop: a wavefront runs across two or more");
  return used;
}

}  // namespace

Applied wavefront(const State& state, const Wavefront& directive, const PrimitiveContext& context) {
  std::string owner;
  const auto used = loops_of(state, directive, context, owner);
  if (!used) return used.error();
  const PrimitiveContext structure = {context.environment, nullptr};
  Applied next = remap_one(state, {directive.statement, directive.replaced}, directive.value.text,
                           directive.name, structure);
  if (!next) return next;
  std::vector<std::string> order = {directive.name};
  for (const std::string& loop : *used)
    if (loop != directive.replaced) order.push_back(loop);
  next = reorder(*next, {owner, order}, structure);
  if (!next) return next;
  next = set_kind(*next, {owner, order[1]}, LoopKind::Parallel, structure);
  if (!next) return next;
  std::vector<std::string> below;
  for (const Loop* loop : path_to(next->tree, owner))
    if (loop->name == directive.name) below = statements_below(next->tree, loop->id);
  if (auto refusal = check_moved(*next, below, context)) return *refusal;
  if (auto refusal = check_races(*next, below, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
