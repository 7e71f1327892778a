#include "schedule/script/recompute.h"

#include <algorithm>
#include <cstdio>

#include "schedule/script/primitives/edit.h"
#include "schedule/state/digits.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;

// Counts the points of a domain: its first `outer` iterators are enumerated, the others have
// to form a box there.
class Counter {
 public:
  // A constraint is tested as soon as all of its iterators are fixed: by the depth of the last
  // of them.
  Counter(std::vector<std::string> iterators, std::vector<Constraint> domain, ir::Ranges ranges,
          std::size_t outer, std::int64_t limit)
      : iterators_(std::move(iterators)), ranges_(std::move(ranges)), outer_(outer), left_(limit) {
    by_depth_.resize(iterators_.size() + 1);
    for (Constraint& c : domain) by_depth_[depth_of(c)].push_back(std::move(c));
  }

  // -1: not counted.
  std::int64_t run() {
    ir::Values point;
    const std::int64_t count = visit(0, point);
    return left_ < 0 ? -1 : count;
  }

 private:
  std::vector<std::string> iterators_;
  ir::Ranges ranges_;
  std::size_t outer_;
  std::int64_t left_;
  std::vector<std::vector<Constraint>> by_depth_;  // by how many iterators it needs

  std::size_t depth_of(const Constraint& c) const {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < iterators_.size(); ++i)
      if (c.expr.uses(iterators_[i])) depth = i + 1;
    return depth;
  }

  bool holds_at(std::size_t depth, const ir::Values& point) const {
    return std::ranges::all_of(by_depth_[depth],
                               [&](const Constraint& c) { return ir::holds(c, point); });
  }

  // `left_` counts down the points that may be enumerated; below 0 the count is given up.
  std::int64_t visit(std::size_t depth, ir::Values& point) {
    if (left_ < 0) return 0;
    if (!holds_at(depth, point)) return 0;
    if (depth == outer_) return box(point);
    const ir::Interval range = ranges_[iterators_[depth]];
    if (!range.min || !range.max) left_ = -1;
    if (left_ < 0) return 0;
    std::int64_t count = 0;
    for (std::int64_t v = *range.min; v <= *range.max && left_ >= 0; ++v) {
      --left_;
      point[iterators_[depth]] = v;
      count = checked_add(count, visit(depth + 1, point));
    }
    point.erase(iterators_[depth]);
    return count;
  }

  // The points of the other iterators with the outer ones as given: each remaining constraint has
  // to be about one iterator alone, so that they form a box, whose volume is the product of its
  // lengths.
  std::int64_t box(const ir::Values& point) {
    ir::Bindings known;
    for (const auto& [name, value] : point) known[name] = value;
    ir::Ranges ranges = ranges_;
    for (std::size_t depth = outer_ + 1; depth < by_depth_.size(); ++depth)
      for (const Constraint& c : by_depth_[depth]) {
        const Affine expr = ir::substitute(c.expr, known);
        if (c.equality || !narrow(expr, ranges)) {
          left_ = -1;
          return 0;
        }
      }
    std::int64_t count = 1;
    for (std::size_t i = outer_; i < iterators_.size(); ++i) {
      const ir::Interval& range = ranges[iterators_[i]];
      if (!range.min || !range.max) left_ = -1;
      if (left_ < 0) return 0;
      count = checked_mul(count, std::max<std::int64_t>(0, *range.max - *range.min + 1));
    }
    return count;
  }

  // c*x + k >= 0 narrows the range of x: x >= ceil(-k / c) for c > 0, x <= floor(k / -c) for c < 0.
  // False for any other form.
  static bool narrow(const Affine& expr, ir::Ranges& ranges) {
    if (expr.is_constant()) return expr.constant() >= 0 || empty(ranges);
    if (expr.terms().size() != 1 || expr.terms().front().atom.div) return false;
    const ir::Term& term = expr.terms().front();
    ir::Interval& range = ranges[term.atom.symbol];
    if (term.coefficient > 0) {
      const std::int64_t least = ceil_div(-expr.constant(), term.coefficient);
      range.min = std::max(range.min.value_or(least), least);
    } else {
      const std::int64_t most = floor_div(expr.constant(), -term.coefficient);
      range.max = std::min(range.max.value_or(most), most);
    }
    return true;
  }
  // An empty box: some constraint without iterators is false.
  static bool empty(ir::Ranges& ranges) {
    for (auto& [name, range] : ranges) range = {0, -1};
    return true;
  }
};

std::int64_t count(const State& state, const ScheduledStatement& s, std::size_t outer,
                   std::int64_t limit) {
  return Counter(s.body.iterators, s.body.domain, iterator_ranges(state, s), outer, limit).run();
}

std::string title(const State& state, const ScheduledStatement& s) {
  const NestLeaf said = leaf_said(leaf_of(state, s.body.name), state.tree);
  return s.body.name + " at " + said.at + (said.per.empty() ? "" : " once per " + said.per);
}

}  // namespace

std::vector<Recompute> recompute_factors(const State& state, std::int64_t limit) {
  std::vector<Recompute> factors;
  const State plain = reference_state(state.basis);
  for (const ScheduledStatement& s : state.statements) {
    if (s.lifted == 0 || s.kind == StatementKind::Copy) continue;
    const std::int64_t instances = count(state, s, static_cast<std::size_t>(s.lifted), limit);
    const std::int64_t reference = count(plain, plain.at(s.reference), 0, limit);
    if (instances >= 0 && reference >= 0)
      factors.push_back({title(state, s), instances, reference});
  }
  return factors;
}

std::string print(const Recompute& recompute) {
  char factor[32];
  std::snprintf(factor, sizeof factor, "%.2f", recompute.factor());
  return recompute.statement + ": " + std::to_string(recompute.instances) + " instances for " +
         std::to_string(recompute.reference) + " (factor " + factor + ")";
}

}  // namespace polyte::schedule
