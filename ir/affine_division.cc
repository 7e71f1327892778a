// The normal form of divisions: whole multiples leave them, digits that were put together come
// apart again.
#include <algorithm>
#include <numeric>

#include "ir/affine_terms.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

// c - d * floor(c / d), moved into (-d/2, d/2]: the coefficient left inside a division by d.
// Centred rather than in [0, d): floor(-j / 4) keeps a small coefficient, where the residue 3 would
// make it -j + floor(3*j / 4), which is longer and has a looser interval.
std::int64_t centred_residue(std::int64_t c, std::int64_t d) {
  const std::int64_t r = polyte::floor_mod(c, d);
  return r > d - r ? r - d : r;
}

// floor(q / n) beside f * q, f * n = d/2: with -d/2 the two are f times the remainder of q,
// which is worth seeing.
bool is_of_remainder(const Affine& e, const Atom& atom, std::int64_t d) {
  if (!atom.div || (d / 2) % atom.div->denominator != 0) return false;
  const std::int64_t factor = d / 2 / atom.div->denominator;
  return std::ranges::all_of(atom.div->numerator.terms(), [&](const Term& own) {
    return std::ranges::any_of(e.terms(), [&](const Term& term) {
      return term.atom == own.atom &&
             polyte::floor_mod(term.coefficient - own.coefficient * factor, d) == 0;
    });
  });
}

// floor((d * a + f * (q % n) + c) / d) where the digit q % n, from 0 to n - 1, does not change the
// quotient: a and that quotient. Of digits that were fused and taken apart again:
//
//   (8*j + i%8) // 8   is   j
//
// f may be negative, and is known only modulo d: any multiple of d may belong to `a` instead. Both
// representatives next to 0 are tried. As the numerator is monotone in the digit, it is enough that
// the quotients at digit 0 and at digit n - 1 agree.
std::optional<Affine> without_digit(const Affine& e, std::int64_t d) {
  for (const Term& term : e.terms()) {
    if (!term.atom.div || term.atom.div->numerator.terms().empty()) continue;
    const FloorDiv& quotient = *term.atom.div;
    const Term& low = quotient.numerator.terms().front();
    const auto same = std::ranges::find(e.terms(), low.atom, &Term::atom);
    if (same == e.terms().end()) continue;
    const std::int64_t residue = polyte::floor_mod(same->coefficient, d);
    for (const std::int64_t part : {residue, residue - d}) {
      if (residue == 0 || part % low.coefficient != 0) continue;
      const std::int64_t f = part / low.coefficient;
      const Affine digit = quotient.numerator - of_term({term.atom, quotient.denominator});
      const Affine rest = e - digit * f;
      if (!std::ranges::all_of(rest.terms(), [&](const Term& t) { return t.coefficient % d == 0; }))
        continue;
      const std::int64_t first = polyte::floor_div(rest.constant(), d);
      if (first != polyte::floor_div(rest.constant() + f * (quotient.denominator - 1), d)) continue;
      return floor_div(rest - rest.constant(), d) + first;
    }
  }
  return std::nullopt;
}

// floor((g * a + f * (q % n) + c) / (g * b)) = floor(a / b) where f * (q % n) + c stays below g: a
// low digit that the division drops. All of g * a is a multiple of g, and what is added lies in [0,
// g), so it never carries into the next multiple.
std::optional<Affine> without_low_digit(const Affine& e, std::int64_t d) {
  for (const Term& term : e.terms()) {
    if (!term.atom.div || term.coefficient >= 0 ||
        term.coefficient % term.atom.div->denominator != 0)
      continue;
    const std::int64_t n = term.atom.div->denominator, f = -(term.coefficient / n);
    if (!term.atom.div->numerator.terms().empty() && term.atom.div->numerator.constant() != 0)
      continue;
    const Affine rest = e - of_term(term) - term.atom.div->numerator * f;
    std::int64_t g = d;
    for (const Term& other : rest.terms()) g = std::gcd(g, other.coefficient);
    const std::int64_t c = polyte::floor_mod(rest.constant(), g);
    if (rest.is_constant() || g < 2 || f * (n - 1) + c >= g) continue;
    Affine coarse = (rest.constant() - c) / g;
    for (const Term& other : rest.terms())
      coarse = coarse + of_term({other.atom, other.coefficient / g});
    return floor_div(coarse, d / g);
  }
  return std::nullopt;
}

// floor((floor(n / a) + c) / d) = floor((n + c * a) / (a * d)), for integers and a, d > 0 (Graham,
// Knuth, Patashnik, Concrete Mathematics, section 3.2). Holds only where the inner quotient stands
// alone with coefficient 1.
std::optional<Affine> flatten_nested(const Affine& e, std::int64_t d) {
  if (e.terms().size() != 1 || !e.terms()[0].atom.div || e.terms()[0].coefficient != 1)
    return std::nullopt;
  const FloorDiv& inner = *e.terms()[0].atom.div;
  const Affine numerator = inner.numerator + Affine(checked_mul(e.constant(), inner.denominator));
  return floor_div(numerator, checked_mul(inner.denominator, d));
}

}  // namespace

// Equal values do not always get equal normal forms, as i//2 + (i + 1)//2 and i show: == on Affine
// proves equality, != proves nothing.
Affine floor_div(const Affine& e, std::int64_t d) {
  POLYTE_CHECK(d > 0, "division by " + std::to_string(d) + ", expected a positive divisor");
  if (d == 1) return e;
  if (const auto whole = without_digit(e, d)) return *whole;
  // Whole multiples of d leave the division; what stays has coefficients in (-d/2, d/2],
  // a remainder's -d/2.
  Affine outside = polyte::floor_div(e.constant_, d), inside = polyte::floor_mod(e.constant_, d);
  std::int64_t common = d;
  for (const Term& term : e.terms_) {
    std::int64_t residue = centred_residue(term.coefficient, d);
    if (2 * residue == d && is_of_remainder(e, term.atom, d)) residue = -residue;
    outside.add_term(term.atom, checked_sub(term.coefficient, residue) / d);
    inside.add_term(term.atom, residue);
    if (residue != 0) common = std::gcd(common, residue);
  }
  if (inside.is_constant()) return outside;
  // floor((g * e + c) / (g * d)) = floor((e + floor(c / g)) / d)
  inside.constant_ = inside.constant_ / common;
  for (Term& term : inside.terms_) term.coefficient /= common;
  const std::int64_t divisor = d / common;
  if (divisor == 1) return outside + inside;
  if (const auto flat = flatten_nested(inside, divisor)) return outside + *flat;
  if (const auto coarse = without_low_digit(inside, divisor)) return outside + *coarse;
  // floor(-e / d) = -floor((e + d - 1) / d). Afterwards all coefficients are positive: this recurs
  // once.
  if (std::ranges::all_of(inside.terms_, [](const Term& term) { return term.coefficient < 0; }))
    return outside - floor_div(divisor - 1 - inside, divisor);
  outside.add_term({"", std::make_shared<FloorDiv>(FloorDiv{std::move(inside), divisor})}, 1);
  return outside;
}

Affine mod(const Affine& e, std::int64_t d) { return e - floor_div(e, d) * d; }

}  // namespace polyte::ir
