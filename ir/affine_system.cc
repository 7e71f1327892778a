#include "ir/affine_system.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "ir/affine_terms.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {

namespace {

// What `compute` returns, unless it overflows: an inequality that cannot be written says nothing.
template <class Compute>
auto if_it_fits(const Compute& compute) -> std::optional<decltype(compute())> {
  try {
    return compute();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// The only division among the terms, where the rest is a multiple of its coefficient;
// null otherwise.
const Term* sole_division(const Affine& e) {
  const Term* found = nullptr;
  for (const Term& term : e.terms()) {
    if (!term.atom.div) continue;
    if (found) return nullptr;
    found = &term;
  }
  if (!found) return nullptr;
  for (const Term& term : e.terms())
    if (term.coefficient % found->coefficient != 0) return nullptr;
  return found;
}

// What the inequality implies once each division that hides the variable is replaced by a bound of
// it. With q = floor(n / d):  n - d + 1 <= d * q <= n.  So c * q + rest >= 0 implies, times d,
//
//   c > 0:  c * n + d * rest >= 0            c < 0:  c * (n - d + 1) + d * rest >= 0
//
// The implication has no converse: what comes out holds wherever the inequality does, and elsewhere
// too. Numerators may have divisions of their own, hence the loop.
std::optional<Affine> without_hidden(const Affine& inequality, const std::string& variable) {
  return if_it_fits([&] {
    Affine e = inequality;
    while (hides(e, variable)) {
      for (const Term& term : e.terms()) {
        if (!term.atom.div || !term.atom.div->numerator.uses(variable)) continue;
        const std::int64_t d = term.atom.div->denominator, c = term.coefficient;
        const Affine rest = e - of_term(term);
        const Affine wide = c > 0 ? term.atom.div->numerator : term.atom.div->numerator - (d - 1);
        e = rest * d + wide * c;
        break;
      }
    }
    return e;
  });
}

}  // namespace

// Two steps until nothing changes:
//
//   cancel   4*i + 6 >= 0  is  i + 1 >= 0, as i is an integer: 6/4 is rounded down
//   open     floor(n / d) >= k  is  n >= d * k,   and  floor(n / d) <= k  is  n <= d * k + d - 1
//
// Both are equivalences over the integers. A division can be opened only where it is the only one
// and the rest is a multiple of its coefficient (`sole_division`). Each opening removes a division,
// so the loop ends.
Affine normalised(const Affine& inequality) {
  Affine e = inequality;
  while (true) {
    e = without_common_factor(e);
    const Term* division = sole_division(e);
    if (!division) return e;
    // here the coefficient is 1 or -1
    const FloorDiv& div = *division->atom.div;
    const auto open = if_it_fits([&] {
      const Affine wide = (e - of_term(*division)) * div.denominator;
      return division->coefficient > 0 ? wide + div.numerator
                                       : wide + (div.denominator - 1) - div.numerator;
    });
    if (!open) return e;
    e = *open;
  }
}

namespace {

// Without repetitions; of inequalities that differ in the constant only, the tightest.
System tightened(const System& system) {
  std::map<Affine, std::int64_t> tightest;  // terms -> least constant
  std::vector<Affine> order;
  for (const Affine& inequality : system) {
    const Affine e = normalised(inequality);
    if (e.is_constant() && e.constant() >= 0) continue;
    const Affine terms = e - e.constant();
    const auto [at, fresh] = tightest.emplace(terms, e.constant());
    if (fresh) order.push_back(terms);
    if (e.constant() < at->second) at->second = e.constant();
  }
  System result;
  for (const Affine& terms : order) result.push_back(terms + tightest.at(terms));
  return result;
}

}  // namespace

System inequalities_of(const std::vector<Constraint>& constraints) {
  System result;
  for (const Constraint& c : constraints) {
    result.push_back(c.expr);
    if (c.equality) result.push_back(-c.expr);
  }
  return result;
}

System system_of(const std::vector<Constraint>& constraints) {
  return tightened(inequalities_of(constraints));
}

namespace {

bool is_interval(const Affine& e) { return e.terms().size() == 1 && !e.terms()[0].atom.div; }

// The intervals that single inequalities give.
Ranges intervals_of(const System& system) {
  Ranges ranges;
  for (const Affine& e : system)
    if (is_interval(e)) tighten(ranges, {e});
  return ranges;
}

// What an inequality says of its multiples of g alone, g being the coefficient of a division that
// hides the variable:  g * q + rest >= 0 and rest <= most  is  q + floor(most / g) >= 0.
//
//   288 * (i//12) - 288 * j - k - 1 >= 0, k >= 0:   i//12 >= j + 1, which is i >= 12 * j + 12
//
// Opening the division as it stands leaves i >= 12 * j + 1 there, for k = 0. Nullopt where nothing
// is left out, or `rest` has no bound.
std::optional<Affine> of_multiples(const Affine& e, const std::string& variable,
                                   const Ranges& ranges) {
  std::int64_t g = 0;
  for (const Term& term : e.terms())
    if (term.atom.div && term.atom.div->numerator.uses(variable)) g = term.coefficient;
  if (g < 0) g = checked_mul(g, -1);
  if (g < 2) return std::nullopt;
  Affine multiples = 0;
  for (const Term& term : e.terms())
    if (term.coefficient % g == 0) multiples = multiples + of_term(term);
  const Affine rest = e - multiples;
  if (rest.is_constant() || hides(rest, variable)) return std::nullopt;
  const auto most = range_of(rest, ranges).max;
  if (!most) return std::nullopt;
  return normalised(multiples + checked_mul(g, polyte::floor_div(*most, g)));
}

}  // namespace

// The originals stay: what is added is weaker than they are, but can be read as a bound of the
// variable, which they cannot.
System relaxed(const System& system, const std::string& variable) {
  System result = system;
  const Ranges ranges = intervals_of(system);
  const auto add_open = [&](const Affine& e) {
    if (const auto open = without_hidden(e, variable)) result.push_back(*open);
  };
  for (const Affine& e : system) {
    if (!hides(e, variable)) continue;
    add_open(e);
    const auto rounded = if_it_fits([&] { return of_multiples(e, variable, ranges); });
    if (rounded && *rounded) add_open(**rounded);
  }
  return tightened(result);
}

bool narrow(Interval& range, const Interval& by) {
  const bool above = by.min && (!range.min || *by.min > *range.min);
  const bool below = by.max && (!range.max || *by.max < *range.max);
  if (above) range.min = by.min;
  if (below) range.max = by.max;
  return above || below;
}

namespace {

// Thresholds of effort, not of correctness: whatever `pruned` leaves out makes the result weaker.
constexpr std::size_t kManyInequalities = 24, kMostInequalities = 64;

// Elimination squares the number of inequalities, step by step: of many, those that intervals imply
// go, and of still too many the longest, but for a bound on either side of each symbol.
System pruned(System system) {
  if (system.size() <= kManyInequalities) return system;
  const Ranges ranges = intervals_of(system);
  std::erase_if(system, [&](const Affine& e) {
    return !is_interval(e) && truth_of({e, false}, ranges) == Truth::True;
  });
  if (system.size() <= kMostInequalities) return system;
  std::vector<std::size_t> order(system.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(system[a].terms().size(), a) < std::pair(system[b].terms().size(), b);
  });
  System shortest;
  std::set<std::pair<std::string, bool>> bounded;  // symbol, from below
  for (const std::size_t at : order) {
    bool is_first_bound = false;
    for (const Term& term : system[at].terms())
      if (!term.atom.div)
        is_first_bound |= bounded.emplace(term.atom.symbol, term.coefficient > 0).second;
    if (is_first_bound || shortest.size() < kMostInequalities) shortest.push_back(system[at]);
  }
  return shortest;
}

}  // namespace

// Fourier and Motzkin: a lower bound a * v + l >= 0 and an upper bound -b * v + h >= 0 (a, b > 0)
// together say
//
//   b * l + a * h >= 0        (times 1 / gcd(a, b))
//
// and each pair is needed, so m inequalities may become m^2 / 4: hence `tightened` and `pruned`.
// What is dropped only makes loops run over too much, which guards then leave out.
System eliminate(const System& system, const std::string& variable) {
  System kept, above, below;  // above: the coefficient is positive, a lower bound
  for (const Affine& inequality : system) {
    const auto e = without_hidden(inequality, variable);
    if (!e) continue;
    const std::int64_t c = e->coefficient(variable);
    (c == 0 ? kept : c > 0 ? above : below).push_back(*e);
  }
  for (const Affine& low : above) {
    for (const Affine& high : below) {
      const auto pair = if_it_fits([&] {
        const std::int64_t a = low.coefficient(variable),
                           b = checked_mul(high.coefficient(variable), -1);
        const std::int64_t g = std::gcd(a, b);
        return low * (b / g) + high * (a / g);
      });
      if (pair) kept.push_back(*pair);
    }
  }
  return pruned(tightened(kept));
}

// c * v + rest >= 0 is v >= ceil(-rest / c) = -floor(rest / c), or, for c < 0,
// v <= floor(rest / -c).
bool add_bound(Bounds& bounds, const Affine& e, const std::string& variable) {
  const std::int64_t c = e.coefficient(variable);
  if (c == 0 || hides(e, variable)) return false;
  const Affine rest = e - Affine::symbol(variable) * c;
  if (c > 0) {
    bounds.lower.push_back(-floor_div(rest, c));
  } else {
    bounds.upper.push_back(floor_div(rest, -c));
  }
  return true;
}

Bounds bounds_of(const System& system, const std::string& variable) {
  Bounds bounds;
  for (const Affine& e : system) add_bound(bounds, e, variable);
  return bounds;
}

// a * x + rest >= 0 and rest <= most: x >= ceil(-most / a), or, for a < 0, x <= floor(most / -a).
// x is a symbol or a division.
Interval implied_interval(const Affine& e, const Term& term, const Ranges& ranges) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::int64_t a = term.coefficient;
  if (a == kLeast || (!term.atom.div && hides(e, term.atom.symbol))) return {};
  const auto rest = if_it_fits([&] { return range_of(e - of_term(term), ranges); });
  const auto most = rest ? rest->max : std::nullopt;
  if (!most || *most == kLeast) return {};
  return a > 0 ? Interval{polyte::ceil_div(-*most, a), {}}
               : Interval{{}, polyte::floor_div(*most, -a)};
}

namespace {

// Narrows the intervals of the symbols of e >= 0, those within a division by what it says of the
// quotient:  low <= floor(n / d) <= high  is  n - d * low >= 0  and  d * high + d - 1 - n >= 0.
// True if that changed one.
bool narrow_symbols(Ranges& ranges, const Affine& e) {
  bool changed = false;
  for (const Term& term : e.terms()) {
    const Interval implied = implied_interval(e, term, ranges);
    if (!implied.min && !implied.max) continue;
    if (!term.atom.div) {
      changed |= narrow(ranges[term.atom.symbol], implied);
      continue;
    }
    const Affine& n = term.atom.div->numerator;
    const std::int64_t d = term.atom.div->denominator;
    const auto bound = if_it_fits([&] {
      return implied.min ? n - checked_mul(d, *implied.min)
                         : checked_add(checked_mul(d, *implied.max), d - 1) - n;
    });
    if (bound) changed |= narrow_symbols(ranges, *bound);
  }
  return changed;
}

bool is_empty(const Interval& range) { return range.min && range.max && *range.min > *range.max; }

}  // namespace

void tighten(Ranges& ranges, const System& system) {
  constexpr int kMostRounds = 16;
  bool changed = true;
  // A round ends: each variable has its turn.
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (const Affine& e : system) changed |= narrow_symbols(ranges, e);
    if (std::ranges::any_of(ranges, [](const auto& each) { return is_empty(each.second); })) return;
  }
}

Parts parts_of(const Affine& e, const std::set<std::string>& symbols) {
  Parts parts{e.constant(), 0};
  for (const Term& term : e.terms()) {
    const Affine value = of_term(term);
    const bool is_with =
        std::ranges::any_of(symbols, [&](const std::string& symbol) { return value.uses(symbol); });
    Affine& into = is_with ? parts.with : parts.without;
    into = into + value;
  }
  return parts;
}

std::optional<Affine> most_over(const Affine& e, const std::set<std::string>& symbols,
                                const Ranges& ranges) {
  const Parts parts = parts_of(e, symbols);
  const auto most = range_of(parts.with, ranges).max;
  return most ? std::optional(parts.without + *most) : std::nullopt;
}

std::optional<Affine> least_over(const Affine& e, const std::set<std::string>& symbols,
                                 const Ranges& ranges) {
  const auto most = most_over(-e, symbols, ranges);
  return most ? std::optional(-*most) : std::nullopt;
}

}  // namespace polyte::ir
