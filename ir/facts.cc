#include "ir/facts.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "ir/affine_terms.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {

namespace {

std::int64_t coefficient_of(const Affine& e, const Atom& atom) {
  for (const Term& term : e.terms())
    if (term.atom == atom) return term.coefficient;
  return 0;
}

bool is_single(const Interval& range) { return range.min && range.max && *range.min == *range.max; }

// What is left of e where f >= 0 cancels a term of it, in which it has a coefficient of the
// same sign:
//
//   scale * e = rest + times * f,   so  rest >= 0  implies  e >= 0
//
// and over integers rest > -scale is enough, as e is a whole number: that is in what comes back.
Affine rest_of(const Affine& e, std::int64_t in_e, const Affine& f, std::int64_t in_f) {
  const std::int64_t common = std::gcd(in_e, in_f);
  const std::int64_t scale = std::abs(in_f) / common, times = std::abs(in_e) / common;
  return e * scale - f * times + (scale - 1);
}

bool have_one_sign(std::int64_t a, std::int64_t b) { return (a > 0 && b > 0) || (a < 0 && b < 0); }

}  // namespace

Facts::Facts(Ranges ranges) : ranges_(std::move(ranges)) {
  for (const auto& [var, range] : ranges_) fixed_ += is_single(range) ? 1 : 0;
}

// Only a change is recorded, with the interval as it was: `restore` plays these back in reverse
// order (a trail, as in a backtracking solver).
void Facts::narrow_range(const std::string& var, const Interval& by) {
  Interval& range = ranges_[var];
  const Interval before = range;
  if (!narrow(range, by)) return;
  fixed_ += is_single(range) - is_single(before);
  undo_.push_back({var, before});
}

void Facts::restore(std::size_t known, std::size_t undo) {
  known_.resize(known);
  for (; undo_.size() > undo; undo_.pop_back()) {
    Interval& range = ranges_[undo_.back().var];
    fixed_ += is_single(undo_.back().before) - is_single(range);
    range = undo_.back().before;
  }
}

// Ages are given in the order in which symbols are met, outer loops before inner ones, and outlive
// the scope that met them. They direct the search of `descends`; they prove nothing.
int Facts::age_of(const std::string& symbol) {
  return ages_.emplace(symbol, static_cast<int>(ages_.size())).first->second;
}

// `var`: what e bounds.
void Facts::know(const Affine& e, const std::string& var) {
  known_.push_back({without_common_factor(e), var, age_of(var)});
}

// e as a bound of its newest symbol outside divisions.
void Facts::know(const Affine& e) {
  const std::string* newest = nullptr;
  for (const Term& term : e.terms()) {
    if (term.atom.div || hides(e, term.atom.symbol)) continue;
    if (!newest || age_of(term.atom.symbol) > age_of(*newest)) newest = &term.atom.symbol;
  }
  known_.push_back(
      {without_common_factor(e), newest ? *newest : "", newest ? age_of(*newest) : -1});
}

// Constant bounds live in the interval alone. A bound over other symbols is kept as well: the
// interval forgets that j <= i, and knows only how far that lets j go.
void Facts::bind(const std::string& var, const std::vector<Affine>& lower,
                 const std::vector<Affine>& upper) {
  age_of(var);
  Interval range;
  for (const Affine& bound : lower) narrow(range, {this->range(bound).min, {}});
  for (const Affine& bound : upper)
    if (const auto max = this->range(bound).max) narrow(range, {{}, checked_sub(*max, 1)});
  narrow_range(var, range);
  const Affine v = Affine::symbol(var);
  for (const Affine& bound : lower)
    if (!bound.is_constant()) know(v - bound, var);
  for (const Affine& bound : upper)
    if (!bound.is_constant()) know(bound - v - 1, var);
}

void Facts::assume_nonnegative(const Affine& e) {
  for (const Term& term : e.terms()) {
    if (term.atom.div) continue;
    age_of(term.atom.symbol);
    narrow_range(term.atom.symbol, implied_interval(e, term, ranges_));
  }
  if (e.is_constant() || (e.terms().size() == 1 && !e.terms()[0].atom.div)) return;
  know(e);
  if (!e.has_division()) return;
  const Affine simple = simplify(e);
  if (simple != e) know(simple);
}

void Facts::assume(const Constraint& c) { assume(std::vector<Constraint>{c}); }

void Facts::assume(const std::vector<Constraint>& all) {
  const System system = inequalities_of(all);
  if (system.size() > 1) {
    Ranges narrowed = ranges_;
    tighten(narrowed, system);
    for (const auto& [var, range] : narrowed) narrow_range(var, range);
  }
  for (const Affine& e : system) assume_nonnegative(e);
}

// By intervals; else by a known inequality that cancels a term of e, and so on. Two deep: `j <= i`
// and `i < N` give `j < N`. Only where nothing grows longer: that prunes the search, which
// otherwise costs (facts * terms)^steps. Newer facts come first, as bounds of inner loops are over
// outer ones. An e that is negative everywhere cannot be proved, so it is given up at once.
bool Facts::cancels(const Affine& e, int steps) const {
  const Interval r = range(e);
  if (r.min && *r.min >= 0) return true;
  if (steps == 0 || (r.max && *r.max < 0)) return false;
  for (auto f = known_.rbegin(); f != known_.rend(); ++f) {
    for (const Term& term : f->expr.terms()) {
      const std::int64_t in_e = coefficient_of(e, term.atom);
      if (!have_one_sign(in_e, term.coefficient)) continue;
      const Affine rest = rest_of(e, in_e, f->expr, term.coefficient);
      if (rest.terms().size() <= e.terms().size() && cancels(rest, steps - 1)) return true;
    }
  }
  return false;
}

// By one of the inequalities that bound the newest symbol of e, of those older than `age`, that any
// bounds; of what is left, in which that symbol is not, so again. The age falls with every step, so
// it ends, however deep the nest: bounds of a loop mention only loops around it, and eliminating
// from the inside out is the order in which substitution brings nothing back.
bool Facts::descends(const Affine& e, int age) const {
  const Known* newest = nullptr;
  for (const Known& k : known_)
    if (k.age >= 0 && k.age < age && (!newest || k.age > newest->age) && e.coefficient(k.var) != 0)
      newest = &k;
  if (!newest) return false;
  const std::int64_t in_e = e.coefficient(newest->var);
  for (const Known& k : known_) {
    const std::int64_t in_k = k.age == newest->age ? k.expr.coefficient(k.var) : 0;
    if (!have_one_sign(in_e, in_k)) continue;
    const Affine rest = rest_of(e, in_e, k.expr, in_k);
    if (!rest.uses(k.var) && (cancels(rest, 1) || descends(rest, k.age))) return true;
  }
  const Interval alone = range(Affine::symbol(newest->var));  // or its interval is the better bound
  return (in_e > 0 ? alone.min : alone.max) && descends(e, newest->age);
}

// `e` as it stands first, then without a common factor: rounding g * x + c >= 0 down to x + floor(c
// / g) >= 0 keeps the integer points, and sometimes only one of the two forms cancels against what
// is known.
bool Facts::follows(const Affine& e) const {
  constexpr int kAnyAge = std::numeric_limits<int>::max();
  if (known_.empty()) return cancels(e, 0);
  if (cancels(e, 2) || descends(e, kAnyAge)) return true;
  const Affine smallest = without_common_factor(e);
  return smallest != e && (cancels(smallest, 2) || descends(smallest, kAnyAge));
}

bool Facts::proves(const Affine& e) const {
  try {
    return follows(e);
  } catch (const UserError&) {
    return false;
  }
}

// A binary search over proofs. `proves` is incomplete and so need not be monotone; the answer is
// sound all the same, because `proved` only ever takes a value that the interval or a proof has
// given.
std::optional<std::int64_t> Facts::most(const Affine& e) const {
  const Interval interval = range(e);
  if (!interval.max || !interval.min) return interval.max;
  std::int64_t proved = *interval.max, least = *interval.min;
  while (least < proved) {
    const std::int64_t middle = std::midpoint(least, proved);
    if (proves(middle - e))
      proved = middle;
    else
      least = middle + 1;
  }
  return proved;
}

// e == 0 is false where e >= 1 or e <= -1, and true where e >= 0 and e <= 0. An equality with
// divisions is tried once more in simplified form, and last by cases of residues, which is the most
// expensive. Overflow anywhere means Unknown.
Truth Facts::truth(const Constraint& c) const {
  try {
    const Affine& e = c.expr;
    const Truth by_intervals = truth_of(c, ranges_);
    if (by_intervals != Truth::Unknown) return by_intervals;
    if (!c.equality) {
      if (follows(e)) return Truth::True;
      return follows(-e - 1) ? Truth::False : Truth::Unknown;
    }
    if (follows(e - 1) || follows(-e - 1)) return Truth::False;
    if (follows(e) && follows(-e)) return Truth::True;
    if (!e.has_division()) return Truth::Unknown;
    const Affine simple = simplify(e);
    if (simple != e && follows(simple) && follows(-simple)) return Truth::True;
    return vanishes_by_cases(simplified(e, ranges_), ranges_) ? Truth::True : Truth::Unknown;
  } catch (const UserError&) {
    return Truth::Unknown;
  }
}

// By the interval of the numerator if it lies within one multiple of the denominator; if it crosses
// one border, by which side of it the facts prove.
std::optional<std::int64_t> Facts::quotient(const Affine& numerator,
                                            std::int64_t denominator) const {
  const Interval r = range(numerator);
  if (!r.min || !r.max) return std::nullopt;
  const std::int64_t first = polyte::floor_div(*r.min, denominator),
                     last = polyte::floor_div(*r.max, denominator);
  if (first == last) return first;
  if (last - first > 1) return std::nullopt;
  const Affine beyond = numerator - last * denominator;
  if (follows(beyond)) return last;
  return follows(-beyond - 1) ? std::optional(first) : std::nullopt;
}

namespace {

// `dominates(a, b)`: with bound a, bound b says nothing more. A bound goes only if one that
// stays dominates it.
template <class Dominates>
std::vector<Affine> prune(std::vector<Affine> bounds, const Dominates& dominates) {
  for (std::size_t i = bounds.size(); i-- > 0;) {
    bool superfluous = false;
    for (std::size_t j = 0; j < bounds.size() && !superfluous; ++j)
      superfluous = i != j && dominates(bounds[j], bounds[i]);
    if (superfluous) bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return bounds;
}

}  // namespace

std::vector<Affine> Facts::prune_lower(const std::vector<Affine>& bounds) const {
  if (bounds.size() < 2) return bounds;
  return prune(bounds, [&](const Affine& a, const Affine& b) { return proves(a - b); });
}

std::vector<Affine> Facts::prune_upper(const std::vector<Affine>& bounds) const {
  if (bounds.size() < 2) return bounds;
  return prune(bounds, [&](const Affine& a, const Affine& b) { return proves(b - a); });
}

}  // namespace polyte::ir
