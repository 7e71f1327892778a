#include "driver/compile/flops.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "ir/domain.h"

namespace polyte::driver {
namespace {

// Of floats alone, for subscripts are integers too. An FMA counts two, a negation none.
double operations_of(const ir::Expr& e) {
  double count = 0;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    if (!is_float(node.type)) return;
    if (std::holds_alternative<ir::Fma>(node.op)) count += 2;
    if (std::holds_alternative<ir::Binary>(node.op)) count += 1;
    if (const auto* unary = std::get_if<ir::Unary>(&node.op))
      count += unary->op == ir::UnaryOp::Neg ? 0 : 1;
  });
  return count;
}

// Iterator by iterator: one that no later bound mentions multiplies, the others are run through.
//   i in 0..n, j in 0..i + 1, k in 0..m:   i is run through; j and k multiply
class InstanceCount {
 public:
  static constexpr std::int64_t kMostSteps = 4'000'000;

  InstanceCount(const ir::Statement& statement, const ir::Values& sizes,
                std::int64_t most_steps = kMostSteps)
      : most_steps_(most_steps),
        iterators_(statement.iterators),
        bounds_(ir::bounds_of(statement.domain, statement.iterators)),
        at_(sizes) {
    for (const std::string& iterator : iterators_) is_needed_.push_back(is_mentioned(iterator));
  }

  // Nothing where some iterator has no bounds or more than `most_steps` are needed to count.
  std::optional<double> run() {
    const bool is_bounded = std::ranges::all_of(bounds_.of, [](const ir::IteratorBounds& b) {
      return !b.lower.empty() && !b.upper.empty();
    });
    if (!is_bounded) return std::nullopt;
    if (!std::ranges::all_of(bounds_.constant,
                             [&](const ir::Constraint& c) { return ir::holds(c, at_); }))
      return 0;
    const double count = from(0);
    return steps_ > most_steps_ ? std::nullopt : std::optional(count);
  }

 private:
  std::int64_t most_steps_;
  const std::vector<std::string>& iterators_;
  ir::DomainBounds bounds_;
  std::vector<bool> is_needed_;
  ir::Values at_;
  std::int64_t steps_ = 0;

  // Whether a later bound depends on this iterator, so that the count below differs from one of
  // its values to the next.
  bool is_mentioned(const std::string& iterator) const {
    const auto uses = [&](const ir::Affine& e) { return e.uses(iterator); };
    return std::ranges::any_of(bounds_.of, [&](const ir::IteratorBounds& b) {
      return std::ranges::any_of(b.lower, uses) || std::ranges::any_of(b.upper, uses) ||
             std::ranges::any_of(b.checks, [&](const ir::Constraint& c) { return uses(c.expr); });
    });
  }

  // Bounds are maxima of lower and minima of upper ones, both inclusive. `here` is set to the
  // first value even where it multiplies: no later bound reads it, but evaluating them needs a
  // value.
  double from(std::size_t depth) {
    if (depth == iterators_.size()) return 1;
    const ir::IteratorBounds& b = bounds_.of[depth];
    const auto value = [&](const ir::Affine& e) { return ir::evaluate(e, at_); };
    const std::int64_t first = std::ranges::max(b.lower | std::views::transform(value));
    const std::int64_t last = std::ranges::min(b.upper | std::views::transform(value));
    if (last < first) return 0;
    std::int64_t& here = at_[iterators_[depth]];
    here = first;
    if (!is_needed_[depth]) return static_cast<double>(last - first + 1) * from(depth + 1);
    double count = 0;
    for (here = first; here <= last && ++steps_ <= most_steps_; ++here)
      if (std::ranges::all_of(b.checks, [&](const ir::Constraint& c) { return ir::holds(c, at_); }))
        count += from(depth + 1);
    return count;
  }
};

}  // namespace

double count_flops(const ir::Program& program) { return count_flops(program.statements, {}); }

double count_flops(const std::vector<ir::Statement>& statements, const ir::Values& sizes) {
  double total = 0;
  for (const ir::Statement& statement : statements) {
    // An update adds one operation to those of its value: its combiner.
    double each = statement.combiner == ir::Combiner::None ? 0 : 1;
    for (const ir::Expr& value : statement.values) each += operations_of(value);
    if (each == 0) continue;
    const std::optional<double> instances = InstanceCount(statement, sizes).run();
    // Not known: 0 of all, rather than a part that looks like the whole.
    if (!instances) return 0;
    total += each * *instances;
  }
  return total;
}

std::optional<double> count_instances(const std::vector<ir::Statement>& statements,
                                      const ir::Values& sizes, std::int64_t most_steps) {
  double total = 0;
  for (const ir::Statement& statement : statements) {
    const std::optional<double> instances = InstanceCount(statement, sizes, most_steps).run();
    if (!instances) return std::nullopt;
    total += *instances;
  }
  return total;
}

}  // namespace polyte::driver
