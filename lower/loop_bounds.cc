#include "lower/loop_bounds.h"

#include <algorithm>
#include <optional>

#include "schedule/state/digits.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using schedule::Loop;
using schedule::State;

namespace {

// Elimination may lose a bound that divisions hide; the interval of the loop's values is one, if
// a loose one.
void add_interval(const State& state, const Loop& loop, const LeafInstance& instance,
                  ir::Bounds& found) {
  if (!found.lower.empty() && !found.upper.empty()) return;
  const ir::Ranges ranges = schedule::loop_ranges(state, *instance.statement);
  const auto range = ranges.find(loop.name);
  if (range == ranges.end()) return;
  if (found.lower.empty() && range->second.min) found.lower.emplace_back(*range->second.min);
  if (found.upper.empty() && range->second.max) found.upper.emplace_back(*range->second.max);
}

// What is left of the leaf's domain when all loops inside this one are eliminated
// (Fourier-Motzkin, ir/affine_system.h): bounds over the loops outside.
LoopBounds own_bounds(const State& state, const ir::Facts& facts, const Loop& loop,
                      std::size_t depth, const LeafInstance& instance) {
  ir::Bounds found =
      ir::bounds_of(ir::relaxed(instance.projections[depth + 1], loop.name), loop.name);
  add_interval(state, loop, instance, found);
  if (found.lower.empty() || found.upper.empty())
    throw UserError(ExitStatus::Unsupported,
                    "loop '" + loop.name + "': no " +
                        std::string(found.lower.empty() ? "lower" : "upper") +
                        " bound follows from statement '" + instance.statement->body.name + "'");
  for (Affine& last : found.upper) last = last + 1;  // loops end before their upper bound
  return {facts.prune_lower(found.lower), facts.prune_upper(found.upper)};
}

// The last resort of a shared loop: the least lower (greatest upper) number over all leaves. Leaves
// that the loop then runs too far for get guards (leaf_instances.h).
Affine widest(const ir::Facts& facts, const Loop& loop,
              const std::vector<std::vector<Affine>>& each, bool lower) {
  std::optional<std::int64_t> all;
  for (const std::vector<Affine>& own : each) {
    std::optional<std::int64_t> best;
    for (const Affine& b : own) {
      const auto limit = lower ? facts.range(b).min : facts.range(b).max;
      if (limit && (!best || (lower ? *limit > *best : *limit < *best))) best = limit;
    }
    if (!best)
      throw UserError(
          ExitStatus::Unsupported,
          "loop '" + loop.name + "': the statements that share it have bounds of unknown order");
    if (!all || (lower ? *best < *all : *best > *all)) all = best;
  }
  return *all;
}

// Bounds that hold for every leaf: b does if each leaf has a bound at least as tight. Numbers
// otherwise. The union of the leaves' values need not be an interval; the loop runs over its hull
// at least, and each leaf keeps a guard where the hull is more than its own values.
std::vector<Affine> common_bound(const ir::Facts& facts, const Loop& loop,
                                 const std::vector<std::vector<Affine>>& each, bool lower) {
  const auto holds = [&](const Affine& b) {
    return std::ranges::all_of(each, [&](const std::vector<Affine>& own) {
      return std::ranges::any_of(
          own, [&](const Affine& tight) { return facts.proves(lower ? tight - b : b - tight); });
    });
  };
  std::vector<Affine> result;
  for (const std::vector<Affine>& own : each)
    for (const Affine& b : own)
      if (std::ranges::find(result, b) == result.end() && holds(b)) result.push_back(b);
  if (!result.empty()) return result;
  return {widest(facts, loop, each, lower)};
}

}  // namespace

LoopBounds union_bounds(const State& state, const ir::Facts& facts, const Loop& loop,
                        std::size_t depth, const std::vector<LeafInstance*>& below) {
  std::vector<LoopBounds> each;
  for (const LeafInstance* instance : below)
    each.push_back(own_bounds(state, facts, loop, depth, *instance));
  std::vector<std::vector<Affine>> lower, upper;
  for (const LoopBounds& b : each) {
    lower.push_back(b.lower);
    upper.push_back(b.upper);
  }
  return {facts.prune_lower(common_bound(facts, loop, lower, true)),
          facts.prune_upper(common_bound(facts, loop, upper, false))};
}

}  // namespace polyte::lower
