#include "schedule/state/digits.h"

#include <algorithm>

#include "ir/domain.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;
using ir::Interval;
using ir::Ranges;

void meet(Interval& into, const Interval& other) {
  if (other.min && (!into.min || *other.min > *into.min)) into.min = other.min;
  if (other.max && (!into.max || *other.max < *into.max)) into.max = other.max;
}

// Tightens the interval of a symbol by expr >= 0; true if it changed.
bool tighten(const Affine& expr, Ranges& ranges) {
  bool changed = false;
  for (const ir::Term& term : expr.terms()) {
    if (term.atom.div) continue;
    const std::string& name = term.atom.symbol;
    const Affine rest = expr - Affine::symbol(name) * term.coefficient;
    const auto most = ir::range_of(rest, ranges).max;
    if (rest.uses(name) || !most) continue;
    const std::int64_t a = term.coefficient;
    const Interval implied = a > 0 ? Interval{ceil_div(-*most, a), {}} : Interval{{}, polyte::floor_div(*most, -a)};
    const Interval before = ranges[name];
    meet(ranges[name], implied);
    changed |= ranges[name].min != before.min || ranges[name].max != before.max;
  }
  return changed;
}

// Intervals by repeated elimination; a few rounds reach the fixed point of every domain with box-like corners.
void propagate(const std::vector<Constraint>& constraints, Ranges& ranges) {
  bool changed = true;
  for (int round = 0; changed && round < 16; ++round) {
    changed = false;
    for (const Constraint& c : constraints) {
      changed |= tighten(c.expr, ranges);
      if (c.equality) changed |= tighten(-c.expr, ranges);
    }
  }
}

Ranges parameter_ranges(const State& state) {
  Ranges ranges;
  for (const std::string& param : state.basis->params) ranges[param] = {0, {}};
  propagate(state.basis->context, ranges);
  return ranges;
}

bool uses_any(const ir::Atom& atom, const std::set<std::string>& names) {
  if (!atom.div) return names.count(atom.symbol) > 0;
  std::set<std::string> symbols;
  atom.div->numerator.collect_symbols(symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return names.count(s) > 0; });
}

Affine atom_value(const ir::Atom& atom) {
  return atom.div ? ir::floor_div(atom.div->numerator, atom.div->denominator) : Affine::symbol(atom.symbol);
}

// The statement's loops that are not in `outer`.
std::set<std::string> inner_loops(const ScheduledStatement& s, const LoopNames& outer) {
  std::set<std::string> inner;
  for (const LoopRow& row : s.rows)
    if (outer.count(row.loop) == 0) inner.insert(row.loop);
  return inner;
}

// e = the part free of `names` + the rest.
void part(const Affine& e, const std::set<std::string>& names, Affine& without, Affine& with) {
  without = e.constant();
  with = 0;
  for (const ir::Term& term : e.terms()) {
    Affine& into = uses_any(term.atom, names) ? with : without;
    into = into + atom_value(term.atom) * term.coefficient;
  }
}

// expr >= 0 with the atoms of inner loops at their most: an implied constraint; nullopt where it has no bound.
std::optional<Affine> relaxed(const Affine& expr, const std::set<std::string>& inner, const Ranges& ranges) {
  Affine without, with;
  part(expr, inner, without, with);
  const auto most = ir::range_of(with, ranges).max;
  if (!most) return std::nullopt;
  return without + *most;
}

std::vector<Affine> as_inequalities(const std::vector<Constraint>& constraints) {
  std::vector<Affine> result;
  for (const Constraint& c : constraints) {
    result.push_back(c.expr);
    if (c.equality) result.push_back(-c.expr);
  }
  return result;
}

// Constraints over the loops of `outer` that every instance of the statement satisfies.
std::vector<Constraint> project(const State& state, const ScheduledStatement& s, const LoopNames& outer) {
  const std::set<std::string> inner = inner_loops(s, outer);
  const Ranges ranges = loop_ranges(state, s);
  std::vector<Constraint> projected;
  const auto add = [&](const Constraint& c) {
    if (!c.expr.is_constant() && std::find(projected.begin(), projected.end(), c) == projected.end())
      projected.push_back(c);
  };
  for (const Constraint& c : loop_constraints(s)) {
    Affine without, with;
    part(c.expr, inner, without, with);
    if (with == Affine(0)) {
      add(c);
      continue;
    }
    for (const Affine& expr : as_inequalities({c}))
      if (const auto implied = relaxed(expr, inner, ranges)) add({*implied, false});
  }
  for (const LoopRow& row : s.rows) {
    if (outer.count(row.loop) == 0) continue;
    const Interval& range = ranges.at(row.loop);
    if (range.min) add(ir::at_least(Affine::symbol(row.loop), *range.min));
    if (range.max) add(ir::at_least(*range.max, Affine::symbol(row.loop)));
  }
  // An affine bound that the constant ones imply says nothing.
  std::vector<Constraint> kept;
  for (std::size_t i = 0; i < projected.size(); ++i) {
    std::set<std::string> symbols;
    projected[i].expr.collect_symbols(symbols);
    const bool is_interval =
        symbols.size() == 1 && projected[i].expr.terms().size() == 1 && !projected[i].expr.terms().front().atom.div;
    if (projected[i].equality || is_interval || ir::truth_of(projected[i], ranges) != ir::Truth::True)
      kept.push_back(projected[i]);
  }
  return kept;
}

ir::DomainFacts outer_facts(const State& state, const ScheduledStatement& s, const LoopNames& outer) {
  std::vector<std::string> order;
  for (const LoopRow& row : s.rows)
    if (outer.count(row.loop) > 0) order.push_back(row.loop);
  const std::vector<Constraint> domain = project(state, s, outer);
  return ir::DomainFacts(order, domain, state.basis->context);
}

// Candidates b with sign * (loop - b) >= 0 for all instances; the tightest, if one is provably that.
std::optional<Affine> extreme_value(const State& state, const ScheduledStatement& s, const std::string& loop,
                                    const LoopNames& outer, int sign, const ir::Bindings& known) {
  std::set<std::string> inner = inner_loops(s, outer);
  inner.erase(loop);
  const Ranges ranges = loop_ranges(state, s);
  std::vector<Affine> candidates;
  for (const Affine& expr : as_inequalities(loop_constraints(s))) {
    const std::int64_t a = expr.coefficient(loop);
    if (a * sign <= 0) continue;
    const Affine rest = expr - Affine::symbol(loop) * a;
    const auto bound = relaxed(rest, inner, ranges);  // a * loop + bound >= 0
    if (!bound || bound->uses(loop)) continue;
    candidates.push_back(ir::substitute(a > 0 ? -ir::floor_div(*bound, a) : ir::floor_div(*bound, -a), known));
  }
  const auto at = ranges.find(loop);
  if (at != ranges.end()) {
    const auto& constant = sign > 0 ? at->second.min : at->second.max;
    if (constant) candidates.insert(candidates.begin(), Affine(*constant));
  }
  const ir::DomainFacts facts = outer_facts(state, s, outer);
  for (const Affine& candidate : candidates) {
    const bool tightest = std::all_of(candidates.begin(), candidates.end(), [&](const Affine& other) {
      return facts.proves({(candidate - other) * sign, false});
    });
    if (tightest) return candidate;
  }
  return std::nullopt;
}

bool is_false(const Constraint& c) {
  return c.expr.is_constant() && (c.equality ? c.expr.constant() != 0 : c.expr.constant() < 0);
}

}  // namespace

std::vector<Constraint> loop_constraints(const ScheduledStatement& s) {
  std::vector<Constraint> constraints;
  for (const Constraint& c : s.body.domain) constraints.push_back(ir::substitute(c, s.inverse));
  constraints.insert(constraints.end(), s.loop_domain.begin(), s.loop_domain.end());
  return constraints;
}

Ranges iterator_ranges(const State& state, const ScheduledStatement& s) {
  Ranges ranges = parameter_ranges(state);
  propagate(s.body.domain, ranges);
  return ranges;
}

Ranges loop_ranges(const State& state, const ScheduledStatement& s) {
  const Ranges iterators = iterator_ranges(state, s);
  Ranges ranges = parameter_ranges(state);
  for (const LoopRow& row : s.rows) ranges[row.loop] = ir::range_of(simplified(row.value, iterators), iterators);
  propagate(loop_constraints(s), ranges);
  return ranges;
}

Ranges loop_ranges(const State& state, const std::vector<std::string>& statements) {
  Ranges all;
  for (const std::string& name : statements) {
    if (is_empty(state, state.at(name))) continue;
    for (const auto& [loop, range] : loop_ranges(state, state.at(name))) {
      const auto [at, is_new] = all.emplace(loop, range);
      if (is_new) continue;
      Interval& into = at->second;
      into.min = into.min && range.min ? std::optional(std::min(*into.min, *range.min)) : std::nullopt;
      into.max = into.max && range.max ? std::optional(std::max(*into.max, *range.max)) : std::nullopt;
    }
  }
  return all;
}

std::optional<std::int64_t> extent_of(const State& state, const std::vector<std::string>& statements,
                                      const std::string& loop) {
  const Ranges ranges = loop_ranges(state, statements);
  const auto at = ranges.find(loop);
  if (at == ranges.end()) return 0;
  if (!at->second.min || !at->second.max) return std::nullopt;
  return std::max<std::int64_t>(0, *at->second.max - *at->second.min + 1);
}

std::vector<Constraint> project_all(const State& state, const std::vector<std::string>& statements,
                                    const LoopNames& outer) {
  std::vector<std::string> alive;
  for (const std::string& name : statements)
    if (!is_empty(state, state.at(name))) alive.push_back(name);
  if (alive.empty()) return {{Affine(-1), false}};
  std::vector<Constraint> candidates;
  for (const std::string& name : alive)
    for (const Constraint& c : project(state, state.at(name), outer)) candidates.push_back(c);
  std::vector<Constraint> kept;
  for (const Constraint& c : candidates) {
    if (std::find(kept.begin(), kept.end(), c) != kept.end()) continue;
    const bool in_all = std::all_of(alive.begin(), alive.end(),
                                    [&](const std::string& name) { return proves(state, state.at(name), outer, c); });
    if (in_all) kept.push_back(c);
  }
  const Ranges ranges = loop_ranges(state, alive);
  for (const std::string& loop : outer) {
    const auto at = ranges.find(loop);
    if (at == ranges.end()) continue;
    const auto add = [&](const Constraint& c) {
      if (std::find(kept.begin(), kept.end(), c) == kept.end()) kept.push_back(c);
    };
    if (at->second.min) add(ir::at_least(Affine::symbol(loop), *at->second.min));
    if (at->second.max) add(ir::at_least(*at->second.max, Affine::symbol(loop)));
  }
  return kept;
}

std::string unbounded_loop(const std::vector<Constraint>& constraints, const std::vector<std::string>& loops) {
  const auto bounds = [&](const std::string& loop, int sign) {
    return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
      const std::int64_t factor = c.expr.coefficient(loop);
      const bool is_linear = factor != 0 && !(c.expr - Affine::symbol(loop) * factor).uses(loop);
      return is_linear && (c.equality || factor * sign > 0);
    });
  };
  const bool is_possible = std::none_of(constraints.begin(), constraints.end(), is_false);
  for (const std::string& loop : loops)
    if (is_possible && !(bounds(loop, 1) && bounds(loop, -1))) return loop;
  return "";
}

std::optional<Affine> first_value(const State& state, const ScheduledStatement& s, const std::string& loop,
                                  const LoopNames& outer, const ir::Bindings& known) {
  return extreme_value(state, s, loop, outer, 1, known);
}

std::optional<Affine> last_value(const State& state, const ScheduledStatement& s, const std::string& loop,
                                 const LoopNames& outer, const ir::Bindings& known) {
  return extreme_value(state, s, loop, outer, -1, known);
}

bool proves(const State& state, const ScheduledStatement& s, const LoopNames& outer, const Constraint& c) {
  const std::vector<Constraint> known = project(state, s, outer);
  if (std::find(known.begin(), known.end(), c) != known.end()) return true;
  if (ir::truth_of(c, loop_ranges(state, s)) == ir::Truth::True) return true;
  return outer_facts(state, s, outer).proves(c);
}

bool is_empty(const State& state, const ScheduledStatement& s) {
  for (const auto& [name, range] : iterator_ranges(state, s))
    if (range.min && range.max && *range.min > *range.max) return true;
  return std::any_of(s.body.domain.begin(), s.body.domain.end(), is_false);
}

std::optional<OffsetPart> split_offset(const State& state, const ScheduledStatement& s, const Affine& index,
                                       const LoopNames& outer, std::string& why) {
  const std::set<std::string> inner = inner_loops(s, outer);
  const ir::Ranges ranges = loop_ranges(state, s);
  Affine over_loops = ir::substitute(index, s.inverse), without, with;
  const auto mixes = [&] {
    part(over_loops, inner, without, with);
    return std::any_of(outer.begin(), outer.end(), [&](const std::string& loop) { return with.uses(loop); });
  };
  if (mixes()) {
    over_loops = simplified(over_loops, ranges);
    if (mixes()) {
      why = "index " + ir::to_string(over_loops) + " of " + s.body.name +
            " divides a sum of loops above and below the site";
      return std::nullopt;
    }
  }
  Interval rest = ir::range_of(with, ranges);
  if (without.is_constant()) {  // the whole index is inside: its iterators know better than digits
    const Interval whole = ir::range_of(index, iterator_ranges(state, s));
    const auto moved = [&](const std::optional<std::int64_t>& bound) {
      return bound ? std::optional(*bound - without.constant()) : std::nullopt;
    };
    meet(rest, {moved(whole.min), moved(whole.max)});
  }
  if (!rest.min || !rest.max) {
    why = "index " + ir::to_string(over_loops) + " of " + s.body.name + " has no constant range below the site";
    return std::nullopt;
  }
  return OffsetPart{without, *rest.min, *rest.max};
}

namespace {

// The terms of n that are no multiples of g, where they lie in 0..g: a low digit.
std::optional<Affine> low_digit(const Affine& n, std::int64_t g, const Ranges& ranges) {
  Affine low = floor_mod(n.constant(), g);
  for (const ir::Term& term : n.terms())
    if (term.coefficient % g != 0) low = low + atom_value(term.atom) * term.coefficient;
  const Interval range = ir::range_of(low, ranges);
  const bool fits = range.min && range.max && *range.min >= 0 && *range.max < g;
  return fits ? std::optional(low) : std::nullopt;
}

// floor(n / d) where n is a multiple of d and some u mod m below d: (i + 2*(i//2)) // 4 is i//2, as i = 2*(i//2) + i%2.
// Or where a low digit is dropped: (8*i + j) // 32 is i//4 for j in 0..8.
Affine quotient(const Affine& n, std::int64_t d, const Ranges& ranges) {
  for (const ir::Term& term : n.terms())
    if (const std::int64_t g = std::abs(term.coefficient); g > 1 && d % g == 0)
      if (const auto low = low_digit(n, g, ranges)) return ir::floor_div(n - *low, d);
  for (const ir::Term& term : n.terms()) {
    if (!term.atom.div) continue;
    const Affine remainder = ir::mod(term.atom.div->numerator, term.atom.div->denominator);
    const Affine whole = ir::floor_div(n - remainder, d);
    const Interval left = ir::range_of(n - whole * d, ranges);
    if (left.min && left.max && *left.min >= 0 && *left.max < d) return whole;
  }
  return ir::floor_div(n, d);
}

}  // namespace

Affine simplified(const Affine& e, const Ranges& ranges) {
  Affine result = e.constant();
  for (const ir::Term& term : e.terms()) {
    Affine value = atom_value(term.atom);
    if (term.atom.div)
      value = quotient(simplified(term.atom.div->numerator, ranges), term.atom.div->denominator, ranges);
    const Interval range = ir::range_of(value, ranges);
    if (range.min && range.max && *range.min == *range.max) value = *range.min;
    result = result + value * term.coefficient;
  }
  return result;
}

namespace {

constexpr std::int64_t kMostResidues = 8;
constexpr int kMostSplits = 3;

// A symbol and a small divisor of a division in which it is taken apart.
std::optional<std::pair<std::string, std::int64_t>> divided_symbol(const Affine& e) {
  for (const ir::Term& term : e.terms()) {
    if (!term.atom.div) continue;
    const ir::FloorDiv& div = *term.atom.div;
    if (const auto inner = divided_symbol(div.numerator)) return inner;
    for (const ir::Term& part : div.numerator.terms())
      if (!part.atom.div && part.coefficient % div.denominator != 0 && div.denominator <= kMostResidues)
        return std::pair(part.atom.symbol, div.denominator);
  }
  return std::nullopt;
}

// The values that a symbol can have, or what it is for each residue by a divisor where these are not few.
std::vector<Affine> cases_of(const std::string& symbol, std::int64_t divisor, const Ranges& ranges) {
  std::vector<Affine> cases;
  const auto range = ranges.find(symbol);
  if (range != ranges.end() && range->second.min && range->second.max &&
      *range->second.max - *range->second.min < kMostResidues) {
    for (std::int64_t value = *range->second.min; value <= *range->second.max; ++value) cases.emplace_back(value);
    return cases;
  }
  for (std::int64_t residue = 0; residue < divisor; ++residue)
    cases.push_back(Affine::symbol(symbol) * divisor + residue);
  return cases;
}

// 0 in each case of a symbol that is divided: i//2 + (i + 1)//2 - i, which no sum of terms shows.
bool vanishes_by_cases(const Affine& e, Ranges ranges, int splits = 0) {
  if (e == Affine(0)) return true;
  const auto divided = divided_symbol(e);
  if (!divided || splits == kMostSplits) return false;
  const auto& [symbol, divisor] = *divided;
  const std::vector<Affine> cases = cases_of(symbol, divisor, ranges);
  ranges.erase(symbol);  // from here on it is the quotient
  return std::ranges::all_of(cases, [&](const Affine& value) {
    return vanishes_by_cases(ir::substitute(e, {{symbol, value}}), ranges, splits + 1);
  });
}

// 0, or what an equality of the domain says is 0.
bool vanishes(const Affine& e, const std::vector<Constraint>& domain, const Ranges& ranges) {
  const Affine rest = simplified(e, ranges);
  return rest == Affine(0) || vanishes_by_cases(rest, ranges) ||
         std::any_of(domain.begin(), domain.end(), [&](const Constraint& c) {
           if (!c.equality) return false;
           const Affine zero = simplified(c.expr, ranges);
           return zero == rest || zero == -rest;
         });
}

}  // namespace

ir::Bindings wrong_inverses(const State& state, const ScheduledStatement& s) {
  ir::Bindings values, wrong;
  for (const LoopRow& row : s.rows) values[row.loop] = row.value;
  const Ranges ranges = iterator_ranges(state, s);
  for (const std::string& iterator : s.body.iterators) {
    const auto found = s.inverse.find(iterator);
    if (found == s.inverse.end()) continue;
    const Affine got = ir::substitute(found->second, values);
    if (!vanishes(got - Affine::symbol(iterator), s.body.domain, ranges)) wrong[iterator] = got;
  }
  if (!wrong.empty() && is_empty(state, s)) wrong.clear();
  return wrong;
}

}  // namespace polyte::schedule
