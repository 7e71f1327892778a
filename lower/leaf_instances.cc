#include "lower/leaf_instances.h"

#include <algorithm>

#include "ir/facts.h"
#include "schedule/state/digits.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Truth;
using schedule::Leaf;
using schedule::Loop;
using schedule::ScheduledStatement;
using schedule::State;

namespace {

// A division is simplified by what the constraints without any say of its terms, (4*o + i)//4 to o,
// so that elimination sees through it. Those stay as they are, and required.
std::vector<Constraint> constraints_of(const ScheduledStatement& s) {
  std::vector<Constraint> result;
  for (const Constraint& c : s.body.domain) result.push_back(ir::substitute(c, s.inverse));
  for (const Constraint& c : s.loop_domain) result.push_back(c);
  const auto divided =
      std::ranges::partition(result, [](const Constraint& c) { return !c.expr.has_division(); });
  ir::Ranges ranges;
  if (!divided.empty()) ir::tighten(ranges, ir::inequalities_of({result.begin(), divided.begin()}));
  for (Constraint& c : divided) c.expr = ir::simplified(c.expr, ranges);
  for (Constraint& c : result)
    if (!c.equality) c.expr = ir::normalised(c.expr);
  std::ranges::sort(result, std::less<>());
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

// The constraints simplified by the intervals of loops and sizes, and these intervals themselves:
// what a division hides in a constraint of an inner loop is required outside it. An instruction's
// loops stand under no guard of their own.
std::vector<Constraint> sharpened(const State& state, const ScheduledStatement& s,
                                  const std::vector<Constraint>& all) {
  const ir::Ranges ranges = schedule::loop_ranges(state, s);
  std::vector<Constraint> result;
  for (const Constraint& c : all) {
    const Constraint simple{ir::simplified(c.expr, ranges), c.equality};
    if (ir::truth_of(simple, {}) != Truth::True) result.push_back(simple);
  }
  for (const auto& [symbol, range] : ranges) {
    if (range.min) result.push_back(ir::at_least(Affine::symbol(symbol), *range.min));
    if (range.max) result.push_back(ir::at_least(*range.max, Affine::symbol(symbol)));
  }
  std::ranges::sort(result, std::less<>());
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

bool is_tensorized(const State& state, const std::vector<const Loop*>& path) {
  return std::ranges::any_of(state.tensorized, [&](const schedule::TensorizedLoop& tensorized) {
    return std::ranges::any_of(path, [&](const Loop* loop) { return loop->id == tensorized.loop; });
  });
}

}  // namespace

// Projections from the inside out: of the system over all loops, eliminating the innermost gives
// what the loops outside must satisfy for it to have a value, and so on. Loops take bounds from
// these; `required` keeps the exact constraints, and whatever the loops do not imply becomes a
// guard.
LeafInstance instance_of(const State& state, const Leaf& leaf) {
  LeafInstance instance;
  instance.statement = &state.at(leaf.statement);
  instance.leaf = &leaf;
  const std::vector<const Loop*> path = schedule::path_to(state.tree, leaf.statement);
  for (const Loop* loop : path) instance.path.push_back(loop->name);
  instance.required = constraints_of(*instance.statement);
  if (is_tensorized(state, path))
    instance.required = sharpened(state, *instance.statement, instance.required);
  instance.projections.resize(instance.path.size() + 1);
  instance.projections.back() = ir::system_of(instance.required);
  for (std::size_t d = instance.path.size(); d-- > 0;)
    instance.projections[d] = ir::eliminate(instance.projections[d + 1], instance.path[d]);
  return instance;
}

}  // namespace polyte::lower
