#include "lower/elimination.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Term;

namespace {

Affine of_atom(const ir::Atom& atom) {
  return atom.div ? ir::floor_div(atom.div->numerator, atom.div->denominator) : Affine::symbol(atom.symbol);
}

// The only division among the terms, where the rest is a multiple of its coefficient; null otherwise.
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

Affine divided(const Affine& e, std::int64_t g) {
  Affine result = polyte::floor_div(e.constant(), g);
  for (const Term& term : e.terms()) result = result + of_atom(term.atom) * (term.coefficient / g);
  return result;
}

bool hides(const Affine& e, const std::string& variable) {
  for (const Term& term : e.terms())
    if (term.atom.div && term.atom.div->numerator.uses(variable)) return true;
  return false;
}

// floor(n / d) lies in [(n - d + 1) / d, n / d]: what the inequality implies once such divisions are widened.
// With q = floor(n / d):  n - d + 1 <= d * q <= n.  So c * q + rest >= 0 implies, times d,
//
//   c > 0:  c * n + d * rest >= 0            c < 0:  c * (n - d + 1) + d * rest >= 0
Affine without_hidden(Affine e, const std::string& variable) {
  while (hides(e, variable)) {
    for (const Term& term : e.terms()) {
      if (!term.atom.div || !term.atom.div->numerator.uses(variable)) continue;
      const std::int64_t d = term.atom.div->denominator, c = term.coefficient;
      const Affine rest = e - of_atom(term.atom) * c;
      const Affine wide = c > 0 ? term.atom.div->numerator : term.atom.div->numerator - (d - 1);
      e = rest * d + wide * c;
      break;
    }
  }
  return e;
}

}  // namespace

// Two steps until nothing changes. Cancel: 4i + 6 >= 0 is 2i + 3 >= 0 is i >= -3/2, over integers i
// + 1 >= 0 (floor of the constant). Open a division that stands alone: floor(n / d) >= k is n >= d
// * k, and floor(n / d) <= k is n <= d * k + d - 1.
Affine normalised(const Affine& inequality) {
  Affine e = inequality;
  while (true) {
    std::int64_t g = 0;
    for (const Term& term : e.terms()) g = std::gcd(g, term.coefficient);
    if (g > 1) e = divided(e, g);
    const Term* division = sole_division(e);
    if (!division) return e;
    // here the coefficient is 1 or -1
    const ir::FloorDiv& div = *division->atom.div;
    const Affine rest = e - of_atom(division->atom) * division->coefficient;
    e = division->coefficient > 0 ? div.numerator + rest * div.denominator
                                  : rest * div.denominator + (div.denominator - 1) - div.numerator;
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

System system_of(const std::vector<Constraint>& constraints) {
  System result;
  for (const Constraint& c : constraints) {
    result.push_back(c.expr);
    if (c.equality) result.push_back(-c.expr);
  }
  return tightened(result);
}

System relaxed(const System& system, const std::string& variable) {
  System result = system;
  for (const Affine& e : system)
    if (hides(e, variable)) result.push_back(without_hidden(e, variable));
  return tightened(result);
}

namespace {

constexpr std::size_t kManyInequalities = 24, kMostInequalities = 64;

// Intervals that the inequalities of one symbol give.
ir::Ranges intervals_of(const System& system) {
  ir::Ranges ranges;
  for (const Affine& e : system) {
    if (e.terms().size() != 1 || e.terms()[0].atom.div) continue;
    const Term& term = e.terms()[0];
    ir::Interval& range = ranges[term.atom.symbol];
    const std::int64_t least = -polyte::floor_div(e.constant(), std::abs(term.coefficient));
    if (term.coefficient > 0 && (!range.min || *range.min < least)) range.min = least;
    if (term.coefficient < 0 && (!range.max || *range.max > -least)) range.max = -least;
  }
  return ranges;
}

// Elimination squares the number of inequalities, step by step: of many, those that intervals imply go, and of still
// too many the longest, but for a bound on either side of each symbol.
System pruned(System system) {
  if (system.size() <= kManyInequalities) return system;
  const ir::Ranges ranges = intervals_of(system);
  std::erase_if(system, [&](const Affine& e) {
    const bool is_interval = e.terms().size() == 1 && !e.terms()[0].atom.div;
    return !is_interval && ir::truth_of({e, false}, ranges) == ir::Truth::True;
  });
  if (system.size() <= kMostInequalities) return system;
  std::vector<std::size_t> order(system.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(system[a].terms().size(), a) < std::pair(system[b].terms().size(), b);
  });
  System shortest;
  std::set<std::pair<std::string, bool>> bounded;  // symbol, from below
  for (const std::size_t at : order) {
    bool is_first_bound = false;
    for (const Term& term : system[at].terms())
      if (!term.atom.div) is_first_bound |= bounded.emplace(term.atom.symbol, term.coefficient > 0).second;
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
    const Affine e = without_hidden(inequality, variable);
    const std::int64_t c = e.coefficient(variable);
    (c == 0 ? kept : c > 0 ? above : below).push_back(e);
  }
  for (const Affine& low : above) {
    for (const Affine& high : below) {
      const std::int64_t a = low.coefficient(variable), b = -high.coefficient(variable), g = std::gcd(a, b);
      kept.push_back(low * (b / g) + high * (a / g));
    }
  }
  return pruned(tightened(kept));
}

// c * v + rest >= 0 is v >= ceil(-rest / c) = -floor(rest / c), or, for c < 0, v < floor(rest / -c)
// + 1.
Bounds bounds_of(const System& system, const std::string& variable) {
  Bounds bounds;
  const Affine v = Affine::symbol(variable);
  for (const Affine& e : system) {
    const std::int64_t c = e.coefficient(variable);
    if (c == 0 || hides(e, variable)) continue;
    const Affine rest = e - v * c;
    if (c > 0) bounds.lower.push_back(-ir::floor_div(rest, c));
    if (c < 0) bounds.upper.push_back(ir::floor_div(rest, -c) + 1);
  }
  return bounds;
}

}  // namespace polyte::lower
