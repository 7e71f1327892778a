#include "lower/facts.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Interval;
using ir::Term;
using ir::Truth;

namespace {

std::int64_t coefficient_of(const Affine& e, const ir::Atom& atom) {
  for (const Term& term : e.terms())
    if (term.atom == atom) return term.coefficient;
  return 0;
}

bool is_single(const Interval& range) { return range.min && range.max && *range.min == *range.max; }

Affine of_term(const Term& term) {
  const Affine atom = term.atom.div ? ir::floor_div(term.atom.div->numerator, term.atom.div->denominator)
                                    : Affine::symbol(term.atom.symbol);
  return atom * term.coefficient;
}

}  // namespace

void Facts::set_range(const std::string& var, const Interval& to) {
  Interval& range = ranges_[var];
  fixed_ += is_single(to) - is_single(range);
  range = to;
}

void Facts::narrow(const std::string& var, const Interval& to) {
  Interval range = ranges_[var];
  undo_.push_back({var, range});
  if (to.min && (!range.min || *to.min > *range.min)) range.min = to.min;
  if (to.max && (!range.max || *to.max < *range.max)) range.max = to.max;
  set_range(var, range);
}

void Facts::restore(std::size_t known, std::size_t undo) {
  known_.resize(known);
  for (; undo_.size() > undo; undo_.pop_back()) set_range(undo_.back().var, undo_.back().before);
}

void Facts::bind(const std::string& var, const std::vector<Affine>& lower, const std::vector<Affine>& upper) {
  Interval range;
  for (const Affine& bound : lower) {
    const Interval r = this->range(bound);
    if (r.min && (!range.min || *r.min > *range.min)) range.min = r.min;
  }
  for (const Affine& bound : upper) {
    const Interval r = this->range(bound);
    if (r.max && (!range.max || *r.max - 1 < *range.max)) range.max = *r.max - 1;
  }
  narrow(var, range);
  const Affine v = Affine::symbol(var);
  for (const Affine& bound : lower)
    if (!bound.is_constant()) known_.push_back(v - bound);
  for (const Affine& bound : upper)
    if (!bound.is_constant()) known_.push_back(bound - v - 1);
}

void Facts::assume_nonnegative(const Affine& e) {
  if (e.terms().size() == 1 && !e.terms()[0].atom.div) {
    const std::int64_t a = e.terms()[0].coefficient;
    if (a > 0) narrow(e.terms()[0].atom.symbol, {-polyte::floor_div(e.constant(), a), std::nullopt});
    if (a < 0) narrow(e.terms()[0].atom.symbol, {std::nullopt, polyte::floor_div(e.constant(), -a)});
    return;
  }
  known_.push_back(e);
}

void Facts::assume(const Constraint& c) {
  assume_nonnegative(c.expr);
  if (c.equality) assume_nonnegative(-c.expr);
}

// e >= 0 from intervals; else look for a known fact f >= 0 that cancels a term of e with the same
// sign:
//
//   scale * e = rest + times * f,   so  rest >= 0  implies  e >= 0
//
// and over integers rest > -scale is enough, as e is a whole number. Two facts deep: `j <= i` and
// `i < N` give `j < N`.
bool Facts::nonnegative(const Affine& e, int depth) const {
  const Interval r = range(e);
  if (r.min && *r.min >= 0) return true;
  if (depth == 0 || (r.max && *r.max < 0)) return false;
  for (auto f = known_.rbegin(); f != known_.rend(); ++f) {
    for (const Term& term : f->terms()) {
      const std::int64_t in_e = coefficient_of(e, term.atom);
      if (in_e == 0 || (in_e > 0) != (term.coefficient > 0)) continue;
      // scale * e = rest + times * f, so rest > -scale suffices.
      const std::int64_t common = std::gcd(in_e, term.coefficient);
      const std::int64_t scale = std::abs(term.coefficient) / common, times = std::abs(in_e) / common;
      const Affine rest = e * scale - *f * times + (scale - 1);
      if (rest.terms().size() <= e.terms().size() && nonnegative(rest, depth - 1)) return true;
    }
  }
  return false;
}

bool Facts::proves(const Affine& e) const { return nonnegative(e, known_.empty() ? 0 : 2); }

Truth Facts::truth(const Constraint& c) const {
  if (!c.equality) {
    if (proves(c.expr)) return Truth::True;
    return proves(-c.expr - 1) ? Truth::False : Truth::Unknown;
  }
  if (proves(c.expr - 1) || proves(-c.expr - 1)) return Truth::False;
  return proves(c.expr) && proves(-c.expr) ? Truth::True : Truth::Unknown;
}

namespace {

// floor((g * x + r) / (g * d)) = floor(x / d) where 0 <= r < g: the numerator without r, for any g that works.
Affine drop_small_part(const Affine& numerator, std::int64_t denominator, const Facts& facts) {
  for (const Term& candidate : numerator.terms()) {
    const std::int64_t g = std::gcd(candidate.coefficient, denominator);
    if (g <= 1) continue;
    Affine large = polyte::floor_div(numerator.constant(), g) * g, small = polyte::floor_mod(numerator.constant(), g);
    for (const Term& term : numerator.terms()) {
      Affine& part = term.coefficient % g == 0 ? large : small;
      part = part + of_term(term);
    }
    if (small.is_constant()) continue;
    const Interval r = facts.range(small);
    if (r.min && r.max && *r.min >= 0 && *r.max < g) return large;
  }
  return numerator;
}

}  // namespace

// By the interval of the numerator if it lies within one multiple of the denominator; if it crosses
// one border, by which side of it the facts prove.
std::optional<std::int64_t> Facts::quotient(const Affine& numerator, std::int64_t denominator) const {
  const Interval r = range(numerator);
  if (!r.min || !r.max) return std::nullopt;
  const std::int64_t first = polyte::floor_div(*r.min, denominator), last = polyte::floor_div(*r.max, denominator);
  if (first == last) return first;
  if (last - first > 1) return std::nullopt;
  const Affine beyond = numerator - last * denominator;
  if (proves(beyond)) return last;
  return proves(-beyond - 1) ? std::optional(first) : std::nullopt;
}

Affine Facts::simplify(const Affine& e) const {
  if (fixed_ == 0 && !e.has_division()) return e;
  Affine result = e.constant();
  for (const Term& term : e.terms()) {
    if (!term.atom.div) {
      const auto range = fixed_ ? ranges_.find(term.atom.symbol) : ranges_.end();
      const bool fixed = range != ranges_.end() && is_single(range->second);
      result = result + (fixed ? Affine(checked_mul(*range->second.min, term.coefficient)) : of_term(term));
      continue;
    }
    const std::int64_t d = term.atom.div->denominator;
    Affine numerator = drop_small_part(simplify(term.atom.div->numerator), d, *this);
    const auto known = quotient(numerator, d);
    result = result + (known ? Affine(*known) : ir::floor_div(numerator, d)) * term.coefficient;
  }
  return result;
}

namespace {

// `dominates(a, b)`: with bound a, bound b says nothing more. A bound goes only if one that stays dominates it.
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

}  // namespace polyte::lower
