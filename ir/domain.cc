#include "ir/domain.h"

#include <algorithm>

namespace polyte::ir {
namespace {

// The innermost of `iterators` that e mentions, as position + 1; 0 for none.
std::size_t depth_of(const Affine& e, const std::vector<std::string>& iterators) {
  for (std::size_t depth = iterators.size(); depth > 0; --depth)
    if (e.uses(iterators[depth - 1])) return depth;
  return 0;
}

// expr = coefficient * it + rest >= 0 as a bound of `it`.
void add_bound(IteratorBounds& bounds, const Affine& rest, std::int64_t coefficient) {
  if (coefficient > 0) {
    bounds.lower.push_back(-floor_div(rest, coefficient));  // it >= ceil(-rest / c)
  } else {
    bounds.upper.push_back(floor_div(rest, -coefficient));
  }
}

}  // namespace

DomainBounds bounds_of(const std::vector<Constraint>& domain, const std::vector<std::string>& iterators) {
  DomainBounds result;
  result.of.resize(iterators.size());
  for (const Constraint& c : domain) {
    const std::size_t depth = depth_of(c.expr, iterators);
    if (depth == 0) {
      result.constant.push_back(c);
      continue;
    }
    const std::string& iterator = iterators[depth - 1];
    const std::int64_t coefficient = c.expr.coefficient(iterator);
    const Affine rest = c.expr - Affine::symbol(iterator) * coefficient;
    IteratorBounds& bounds = result.of[depth - 1];
    if (coefficient == 0 || rest.uses(iterator)) {
      bounds.checks.push_back(c);
      continue;
    }
    add_bound(bounds, rest, coefficient);
    if (c.equality) add_bound(bounds, -rest, -coefficient);
  }
  return result;
}

DomainFacts::DomainFacts(std::vector<std::string> iterators, const std::vector<Constraint>& domain,
                         std::vector<Constraint> context)
    : iterators_(std::move(iterators)), bounds_(bounds_of(domain, iterators_)), context_(std::move(context)) {
  is_box_ = bounds_.constant.empty();
  std::set<std::string> symbols;
  for (const Constraint& c : domain) c.expr.collect_symbols(symbols);
  for (const Constraint& c : context_) c.expr.collect_symbols(symbols);
  for (const std::string& symbol : symbols)
    if (std::find(iterators_.begin(), iterators_.end(), symbol) == iterators_.end()) ranges_[symbol] = {0, {}};
  for (std::size_t i = 0; i < iterators_.size(); ++i) {
    const IteratorBounds& bounds = bounds_.of[i];
    Interval range;
    for (const Affine& e : bounds.lower)
      if (const auto min = range_of(e, ranges_).min; min && (!range.min || *min > *range.min)) range.min = min;
    for (const Affine& e : bounds.upper)
      if (const auto max = range_of(e, ranges_).max; max && (!range.max || *max < *range.max)) range.max = max;
    ranges_[iterators_[i]] = range;
    const bool single = bounds.lower.size() == 1 && bounds.upper.size() == 1 && bounds.checks.empty();
    is_box_ =
        is_box_ && single && depth_of(bounds.lower[0], iterators_) == 0 && depth_of(bounds.upper[0], iterators_) == 0;
  }
}

bool DomainFacts::parameters_never_negative(const Affine& e) const {
  const auto is_never_negative = [&](const Affine& value) {
    Ranges ranges = ranges_;
    std::set<std::string> symbols;
    value.collect_symbols(symbols);
    for (const std::string& symbol : symbols) ranges.emplace(symbol, Interval{0, {}});
    return truth_of({value, false}, ranges) == Truth::True;
  };
  if (is_never_negative(e)) return true;
  return std::any_of(context_.begin(), context_.end(), [&](const Constraint& c) {
    return is_never_negative(e - c.expr) || (c.equality && is_never_negative(e + c.expr));
  });
}

bool DomainFacts::never_negative(const Affine& e, std::size_t depth) const {
  if (parameters_never_negative(e)) return true;
  while (depth > 0 && !e.uses(iterators_[depth - 1])) --depth;
  if (depth == 0) return false;
  const std::string& iterator = iterators_[depth - 1];
  const std::int64_t coefficient = e.coefficient(iterator);
  const Affine rest = e - Affine::symbol(iterator) * coefficient;
  if (rest.uses(iterator)) return false;
  const IteratorBounds& bounds = bounds_.of[depth - 1];
  const std::vector<Affine>& candidates = coefficient > 0 ? bounds.lower : bounds.upper;
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Affine& bound) { return never_negative(rest + bound * coefficient, depth - 1); });
}

bool DomainFacts::proves(const Constraint& c) const {
  return never_negative(c.expr, iterators_.size()) && (!c.equality || never_negative(-c.expr, iterators_.size()));
}

bool DomainFacts::refutes(const Constraint& c) const {
  if (!is_box_ || c.equality) return false;
  // The corner of the box where the expression is smallest.
  Affine worst = c.expr;
  for (std::size_t i = iterators_.size(); i-- > 0;) {
    const std::int64_t coefficient = worst.coefficient(iterators_[i]);
    const Affine rest = worst - Affine::symbol(iterators_[i]) * coefficient;
    if (rest.uses(iterators_[i])) return false;
    const Affine& low = bounds_.of[i].lower[0];
    const Affine& high = bounds_.of[i].upper[0];
    if (const Affine extent = high - low; extent.is_constant() && extent.constant() < 0) return false;
    worst = rest + (coefficient > 0 ? low : high) * coefficient;
  }
  return parameters_never_negative(-worst - 1);
}

std::vector<Constraint> implied_guard(const std::vector<Affine>& shape, const std::vector<Index>& subscripts,
                                      const DomainFacts& facts) {
  std::vector<Constraint> guard;
  for (std::size_t i = 0; i < shape.size() && i < subscripts.size(); ++i) {
    if (subscripts[i].indirect) continue;
    const Affine& e = subscripts[i].affine;
    const Constraint low = at_least(e, 0), high = less_than(e, shape[i]);
    if (!facts.proves(low)) guard.push_back(low);
    if (!facts.proves(high)) guard.push_back(high);
  }
  return guard;
}

}  // namespace polyte::ir
