// The one simplifier of affine expressions, by intervals alone or by all that Facts know.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/affine_terms.h"
#include "ir/facts.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

bool lies_below(const Interval& range, std::int64_t d) {  // in [0, d)
  return range.min && range.max && *range.min >= 0 && *range.max < d;
}

// floor((g * x + r) / (g * d)) = floor(x / d) where 0 <= r < g: the numerator without r, for any
// g that works.
std::optional<Affine> without_small_part(const Affine& numerator, std::int64_t denominator,
                                         const Ranges& ranges) {
  for (const Term& candidate : numerator.terms()) {
    const std::int64_t g = std::gcd(candidate.coefficient, denominator);
    if (g <= 1) continue;
    Affine large = polyte::floor_div(numerator.constant(), g) * g,
           small = polyte::floor_mod(numerator.constant(), g);
    for (const Term& term : numerator.terms()) {
      Affine& part = term.coefficient % g == 0 ? large : small;
      part = part + of_term(term);
    }
    if (!small.is_constant() && lies_below(range_of(small, ranges), g)) return large;
  }
  return std::nullopt;
}

bool has_term(const Affine& e, const Atom& atom) {
  return std::ranges::any_of(e.terms(), [&](const Term& term) { return term.atom == atom; });
}

// floor(n / d) where n is a multiple of d and some u mod m below d: (i + 2*(i//2)) // 4 is i//2, as
// i = 2*(i//2) + i%2.
std::optional<Affine> without_remainder(const Affine& numerator, std::int64_t denominator,
                                        const Ranges& ranges) {
  for (const Term& term : numerator.terms()) {
    if (!term.atom.div || !has_term(numerator, term.atom.div->numerator.terms().front().atom))
      continue;
    Affine whole = floor_div(numerator - mod(term.atom.div->numerator, term.atom.div->denominator),
                             denominator);
    if (lies_below(range_of(numerator - whole * denominator, ranges), denominator)) return whole;
  }
  return std::nullopt;
}

// `quotient(n, d)`: floor(n / d) where that is one number.
template <class Quotient>
Affine simplified_by(const Affine& e, const Ranges& ranges, const Quotient& quotient) {
  Affine result = e.constant();
  for (const Term& term : e.terms()) {
    Affine value = of_term({term.atom, 1});
    if (term.atom.div) {
      const std::int64_t d = term.atom.div->denominator;
      Affine numerator = simplified_by(term.atom.div->numerator, ranges, quotient);
      while (const auto large = without_small_part(numerator, d, ranges)) numerator = *large;
      const auto known = quotient(numerator, d);
      const auto whole = known ? Affine(*known) : without_remainder(numerator, d, ranges);
      value = whole ? *whole : floor_div(numerator, d);
    }
    if (!value.is_constant()) {
      const Interval range = range_of(value, ranges);
      if (range.min && range.min == range.max) value = *range.min;
    }
    result = result + value * term.coefficient;
  }
  return result;
}

// Where it would overflow, as it stands: contradictions lead to numbers of any size.
template <class Quotient>
Affine simplified_or_same(const Affine& e, const Ranges& ranges, const Quotient& quotient) {
  try {
    return simplified_by(e, ranges, quotient);
  } catch (const UserError&) {
    return e;
  }
}

// Both ends of the interval between the same two multiples of d.
std::optional<std::int64_t> quotient_by_range(const Affine& numerator, std::int64_t d,
                                              const Ranges& ranges) {
  const Interval r = range_of(numerator, ranges);
  if (!r.min || !r.max || polyte::floor_div(*r.min, d) != polyte::floor_div(*r.max, d))
    return std::nullopt;
  return polyte::floor_div(*r.min, d);
}

}  // namespace

Affine simplified(const Affine& e, const Ranges& ranges) {
  return simplified_or_same(
      e, ranges, [&](const Affine& n, std::int64_t d) { return quotient_by_range(n, d, ranges); });
}

Affine Facts::simplify(const Affine& e) const {
  if (fixed_ == 0 && !e.has_division()) return e;
  return simplified_or_same(e, ranges_,
                            [&](const Affine& n, std::int64_t d) { return quotient(n, d); });
}

namespace {

// At most 8 cases per symbol and 3 symbols one after the other: 512 substitutions in the worst
// case.
constexpr std::int64_t kMostResidues = 8;
constexpr int kMostSplits = 3;

// A symbol and a small divisor of a division in which it is taken apart.
std::optional<std::pair<std::string, std::int64_t>> divided_symbol(const Affine& e) {
  for (const Term& term : e.terms()) {
    if (!term.atom.div) continue;
    const FloorDiv& div = *term.atom.div;
    if (const auto inner = divided_symbol(div.numerator)) return inner;
    for (const Term& part : div.numerator.terms())
      if (!part.atom.div && part.coefficient % div.denominator != 0 &&
          div.denominator <= kMostResidues)
        return std::pair(part.atom.symbol, div.denominator);
  }
  return std::nullopt;
}

// The values that a symbol can have; where these are not few, what it is for each residue by a
// divisor: s = divisor * s' + r for r in 0..divisor, in which s' takes the name of s.
std::vector<Affine> cases_of(const std::string& symbol, std::int64_t divisor,
                             const Ranges& ranges) {
  std::vector<Affine> cases;
  const auto range = ranges.find(symbol);
  if (range != ranges.end() && range->second.min && range->second.max &&
      checked_sub(*range->second.max, *range->second.min) < kMostResidues) {
    for (std::int64_t value = *range->second.min; value <= *range->second.max; ++value)
      cases.emplace_back(value);
    return cases;
  }
  for (std::int64_t residue = 0; residue < divisor; ++residue)
    cases.push_back(Affine::symbol(symbol) * divisor + residue);
  return cases;
}

// Exhaustive, hence a proof: the cases of a symbol cover all of its values. A case in which e is
// not the constant 0 and nothing is left to divide is where the proof fails.
bool vanishes_in_all_cases(const Affine& e, Ranges ranges, int splits) {
  if (e == Affine(0)) return true;
  const auto divided = divided_symbol(e);
  if (!divided || splits == kMostSplits) return false;
  const auto& [symbol, divisor] = *divided;
  const std::vector<Affine> cases = cases_of(symbol, divisor, ranges);
  ranges.erase(symbol);  // from here on it is the quotient
  return std::ranges::all_of(cases, [&](const Affine& value) {
    return vanishes_in_all_cases(substitute(e, {{symbol, value}}), ranges, splits + 1);
  });
}

}  // namespace

bool vanishes_by_cases(const Affine& e, const Ranges& ranges) {
  return vanishes_in_all_cases(e, ranges, 0);
}

}  // namespace polyte::ir
