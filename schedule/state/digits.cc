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

// Sizes are at least 0; the header's `where` may say more.
Ranges parameter_ranges(const State& state) {
  Ranges ranges;
  for (const std::string& param : state.basis->params) ranges[param] = {0, {}};
  ir::tighten(ranges, ir::inequalities_of(state.basis->context));
  return ranges;
}

// The statement's loops that are not in `outer`.
std::set<std::string> inner_loops(const ScheduledStatement& s, const LoopNames& outer) {
  std::set<std::string> inner;
  for (const LoopRow& row : s.rows)
    if (outer.count(row.loop) == 0) inner.insert(row.loop);
  return inner;
}

// Constraints over the loops of `outer` that every instance of the statement satisfies:
//
//   8*m.o + m.i < M, inner m.i in 0..7     8*m.o < M, as m.i is 0 at the least
std::vector<Constraint> project(const State& state, const ScheduledStatement& s,
                                const LoopNames& outer) {
  const std::set<std::string> inner = inner_loops(s, outer);
  const Ranges ranges = loop_ranges(state, s);
  std::vector<Constraint> projected;
  const auto add = [&](const Constraint& c) {
    if (!c.expr.is_constant() && std::ranges::find(projected, c) == projected.end())
      projected.push_back(c);
  };
  for (const Constraint& each : loop_constraints(s)) {
    // A quotient may not need its inner loops: (24*i.o + i.i) // 288 is i.o // 12.
    const Constraint c{ir::simplified(each.expr, ranges), each.equality};
    // A constraint without inner loops stays as it is. In any other the inner loops' part is
    // replaced by the most that it can be: e + inner >= 0 implies e + max(inner) >= 0.
    if (ir::parts_of(c.expr, inner).with == Affine(0)) {
      add(c);
      continue;
    }
    for (const Affine& expr : ir::inequalities_of({c}))
      if (const auto implied = ir::most_over(expr, inner, ranges)) add({*implied, false});
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
    const bool is_interval = symbols.size() == 1 && projected[i].expr.terms().size() == 1 &&
                             !projected[i].expr.terms().front().atom.div;
    if (projected[i].equality || is_interval ||
        ir::truth_of(projected[i], ranges) != ir::Truth::True)
      kept.push_back(projected[i]);
  }
  return kept;
}

// What is known of the loops of `outer`, in nest order, for the prover by cancellation
// (ir/domain.h).
ir::DomainFacts outer_facts(const State& state, const ScheduledStatement& s,
                            const LoopNames& outer) {
  std::vector<std::string> order;
  for (const LoopRow& row : s.rows)
    if (outer.count(row.loop) > 0) order.push_back(row.loop);
  const std::vector<Constraint> domain = project(state, s, outer);
  return ir::DomainFacts(order, domain, state.basis->params, state.basis->context);
}

// Candidates b have sign * (loop - b) >= 0 for all instances: lower bounds for sign 1, upper bounds
// for -1. Each inequality a * loop + rest >= 0 gives one, ceil(-rest / a) for a > 0 and floor(rest
// / -a) for a < 0, with the loops inside at what allows most. The result is the candidate that is
// provably the tightest, if one is.
std::optional<Affine> extreme_value(const State& state, const ScheduledStatement& s,
                                    const std::string& loop, const LoopNames& outer, int sign,
                                    const ir::Bindings& known) {
  std::set<std::string> inner = inner_loops(s, outer);
  inner.erase(loop);
  const Ranges ranges = loop_ranges(state, s);
  std::vector<Affine> candidates;
  for (const Affine& expr : ir::inequalities_of(loop_constraints(s))) {
    // a * loop + rest >= 0
    const std::int64_t a = expr.coefficient(loop);
    if (a * sign <= 0) continue;
    const Affine rest = expr - Affine::symbol(loop) * a;
    const auto bound = ir::most_over(rest, inner, ranges);  // a * loop + bound >= 0
    if (!bound || bound->uses(loop)) continue;
    candidates.push_back(
        ir::substitute(a > 0 ? -ir::floor_div(*bound, a) : ir::floor_div(*bound, -a), known));
  }
  const auto at = ranges.find(loop);
  if (at != ranges.end()) {
    const auto& constant = sign > 0 ? at->second.min : at->second.max;
    if (constant) candidates.insert(candidates.begin(), Affine(*constant));
  }
  const ir::DomainFacts facts = outer_facts(state, s, outer);
  for (const Affine& candidate : candidates) {
    const bool tightest = std::ranges::all_of(candidates, [&](const Affine& other) {
      return facts.proves({(candidate - other) * sign, false});
    });
    if (tightest) return candidate;
  }
  // A statement without an instance has any bound.
  if (is_empty(state, s)) return Affine(0);
  return std::nullopt;
}

bool is_false(const Constraint& c) { return ir::truth_of(c, {}) == ir::Truth::False; }

}  // namespace

std::vector<Constraint> loop_constraints(const ScheduledStatement& s) {
  std::vector<Constraint> constraints;
  for (const Constraint& c : s.body.domain) constraints.push_back(ir::substitute(c, s.inverse));
  constraints.insert(constraints.end(), s.loop_domain.begin(), s.loop_domain.end());
  return constraints;
}

Ranges iterator_ranges(const State& state, const ScheduledStatement& s) {
  Ranges ranges = parameter_ranges(state);
  ir::tighten(ranges, ir::inequalities_of(s.body.domain));
  return ranges;
}

// First each loop by its row, then all of them together by the constraints: m.o = m//8 with 0
// <= m < 20 is in 0..2.
Ranges loop_ranges(const State& state, const ScheduledStatement& s) {
  const Ranges iterators = iterator_ranges(state, s);
  Ranges ranges = parameter_ranges(state);
  for (const LoopRow& row : s.rows)
    ranges[row.loop] = ir::range_of(ir::simplified(row.value, iterators), iterators);
  ir::tighten(ranges, ir::inequalities_of(loop_constraints(s)));
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
      into.min =
          into.min && range.min ? std::optional(std::min(*into.min, *range.min)) : std::nullopt;
      into.max =
          into.max && range.max ? std::optional(std::max(*into.max, *range.max)) : std::nullopt;
    }
  }
  return all;
}

std::optional<std::int64_t> extent_of(const State& state,
                                      const std::vector<std::string>& statements,
                                      const std::string& loop) {
  const Ranges ranges = loop_ranges(state, statements);
  const auto at = ranges.find(loop);
  // No statement that has an instance owns the loop.
  if (at == ranges.end()) return 0;
  if (!at->second.min || !at->second.max) return std::nullopt;
  return std::max<std::int64_t>(0, *at->second.max - *at->second.min + 1);
}

// A constraint over the loops of `outer` holds for all statements if the facts of each one prove
// it; candidates are what the projection of any of them says. Statements without instances say
// nothing.
std::vector<Constraint> project_all(const State& state, const std::vector<std::string>& statements,
                                    const LoopNames& outer) {
  std::vector<std::string> alive;
  for (const std::string& name : statements)
    if (!is_empty(state, state.at(name))) alive.push_back(name);
  // -1 >= 0: no iteration at all.
  if (alive.empty()) return {{Affine(-1), false}};
  std::vector<Constraint> candidates, kept;
  std::vector<ir::DomainFacts> facts;
  for (const std::string& name : alive) {
    const std::vector<Constraint> own = project(state, state.at(name), outer);
    candidates.insert(candidates.end(), own.begin(), own.end());
    facts.push_back(outer_facts(state, state.at(name), outer));
  }
  for (const Constraint& c : candidates) {
    if (std::ranges::find(kept, c) != kept.end()) continue;
    if (std::ranges::all_of(facts, [&](const ir::DomainFacts& of) { return of.proves(c); }))
      kept.push_back(c);
  }
  const Ranges ranges = loop_ranges(state, alive);
  for (const std::string& loop : outer) {
    const auto at = ranges.find(loop);
    if (at == ranges.end()) continue;
    const auto add = [&](const Constraint& c) {
      if (std::ranges::find(kept, c) == kept.end()) kept.push_back(c);
    };
    if (at->second.min) add(ir::at_least(Affine::symbol(loop), *at->second.min));
    if (at->second.max) add(ir::at_least(*at->second.max, Affine::symbol(loop)));
  }
  return kept;
}

// A bound of a loop is a constraint that is linear in it, a * loop + rest >= 0: a lower bound
// for a > 0, an upper one for a < 0. An equality is both.
std::string unbounded_loop(const std::vector<Constraint>& constraints,
                           const std::vector<std::string>& loops) {
  const auto bounds = [&](const std::string& loop, int sign) {
    return std::ranges::any_of(constraints, [&](const Constraint& c) {
      const std::int64_t factor = c.expr.coefficient(loop);
      const bool is_linear = factor != 0 && !(c.expr - Affine::symbol(loop) * factor).uses(loop);
      return is_linear && (c.equality || factor * sign > 0);
    });
  };
  const bool is_possible = std::ranges::none_of(constraints, is_false);
  for (const std::string& loop : loops)
    if (is_possible && !(bounds(loop, 1) && bounds(loop, -1))) return loop;
  return "";
}

std::optional<Affine> first_value(const State& state, const ScheduledStatement& s,
                                  const std::string& loop, const LoopNames& outer,
                                  const ir::Bindings& known) {
  return extreme_value(state, s, loop, outer, 1, known);
}

std::optional<Affine> last_value(const State& state, const ScheduledStatement& s,
                                 const std::string& loop, const LoopNames& outer,
                                 const ir::Bindings& known) {
  return extreme_value(state, s, loop, outer, -1, known);
}

bool proves(const State& state, const ScheduledStatement& s, const LoopNames& outer,
            const Constraint& c) {
  return outer_facts(state, s, outer).proves(c);
}

// True only where it is obvious: an interval without a value, or a constraint that is false.
bool is_empty(const State& state, const ScheduledStatement& s) {
  for (const auto& [name, range] : iterator_ranges(state, s))
    if (range.min && range.max && *range.min > *range.max) return true;
  return std::ranges::any_of(s.body.domain, is_false);
}

// The terms of the index without inner loops are the offset; the others have to be in a
// constant interval:
//
//   12*m.o + m.i, inner m.i in 0..11     offset 12*m.o, rest 0 .. 11
std::optional<OffsetPart> split_offset(const State& state, const ScheduledStatement& s,
                                       const Affine& index, const LoopNames& outer,
                                       std::string& why) {
  const std::set<std::string> inner = inner_loops(s, outer);
  const ir::Ranges ranges = loop_ranges(state, s);
  Affine over_loops = ir::substitute(index, s.inverse);
  ir::Parts parts;
  const auto mixes = [&] {
    parts = ir::parts_of(over_loops, inner);
    return std::ranges::any_of(outer,
                               [&](const std::string& loop) { return parts.with.uses(loop); });
  };
  // floor((8 * i.o + i.i) / 8) mixes loops above the site and below as it stands, and is i.o
  // simplified.
  if (mixes()) {
    over_loops = ir::simplified(over_loops, ranges);
    if (mixes()) {
      why = "index " + ir::to_string(over_loops) + " of " + s.body.name +
            " divides a sum of loops above and below the site";
      return std::nullopt;
    }
  }
  Interval rest = ir::range_of(parts.with, ranges);
  // The whole index varies below the site, so the range of its iterators bounds it, too: often
  // tighter than that of the loops which they are made of, where a tile reaches beyond the last
  // iteration.
  if (parts.without.is_constant()) {
    const Interval whole = ir::range_of(index, iterator_ranges(state, s));
    const auto moved = [&](const std::optional<std::int64_t>& bound) {
      return bound ? std::optional(*bound - parts.without.constant()) : std::nullopt;
    };
    ir::narrow(rest, {moved(whole.min), moved(whole.max)});
  }
  if (!rest.min || !rest.max) {
    why = "index " + ir::to_string(over_loops) + " of " + s.body.name +
          " has no constant range below the site";
    return std::nullopt;
  }
  return OffsetPart{parts.without, *rest.min, *rest.max};
}

// Rows give the loops as functions of the iterators, the inverse the iterators as functions of the
// loops: put together they have to be the identity on the domain.
ir::Bindings wrong_inverses(const State& state, const ScheduledStatement& s) {
  ir::Bindings values, wrong;
  for (const LoopRow& row : s.rows) values[row.loop] = row.value;
  ir::Facts facts(iterator_ranges(state, s));
  for (const Constraint& c : s.body.domain)
    if (c.equality) facts.assume(c);
  for (const std::string& iterator : s.body.iterators) {
    const auto found = s.inverse.find(iterator);
    if (found == s.inverse.end()) continue;
    const Affine got = ir::substitute(found->second, values);
    if (facts.truth({got - Affine::symbol(iterator), true}) != ir::Truth::True)
      wrong[iterator] = got;
  }
  if (!wrong.empty() && is_empty(state, s)) wrong.clear();
  return wrong;
}

}  // namespace polyte::schedule
