#include "ir/statement_parts.h"

#include <algorithm>

#include "ir/affine_terms.h"
#include "ir/domain.h"

namespace polyte::ir {
namespace {

// `i in b..e` is two constraints, i - b >= 0 and e - 1 - i >= 0.
void add_range(Statement& s, const Range& range) {
  s.iterators.push_back(range.name);
  if (!range.bounded) return;
  const Affine it = Affine::symbol(range.name);
  s.domain.push_back(at_least(it, range.begin));
  s.domain.push_back(less_than(it, range.end));
}

bool is_subscript(const std::vector<Access>& writes, const std::string& iterator) {
  return std::ranges::any_of(writes, [&](const Access& write) {
    return std::ranges::any_of(write.indices,
                               [&](const Index& index) { return index.affine.uses(iterator); });
  });
}

// Without its reductions it is the domain of .init, to which predicates on a reduction do not
// apply: y[i] = sum[j in 0..N] x[j] if j <= i, i >= 1 initialises all i >= 1.
Statement assemble(const StatementParts& parts, bool with_reductions) {
  Statement s;
  s.name = parts.name;
  s.region_depth = static_cast<int>(parts.regions.size());
  for (const Range& range : parts.regions) add_range(s, range);
  for (const Range& range : parts.ranges) add_range(s, range);
  for (const Range& range : parts.reductions)
    if (with_reductions) add_range(s, range);
  for (const Constraint& c : parts.where) {
    const bool uses_reduction = std::ranges::any_of(
        parts.reductions, [&](const Range& range) { return c.expr.uses(range.name); });
    if (with_reductions || !uses_reduction) s.domain.push_back(c);
  }
  s.writes = parts.writes;
  s.guard = parts.guard;
  return s;
}

// The pair of an ArgMax begins as (-inf, the largest i64), so that any value but a NaN replaces it.
std::vector<Expr> identities_of(Combiner combiner, const std::vector<Expr>& values) {
  std::vector<Expr> result{identity_of(combiner, values[0]->type)};
  // Of equal values the lower position wins, so the initial one is the highest.
  for (std::size_t i = 1; i < values.size(); ++i)
    result.push_back(identity_of(Combiner::Min, values[i]->type));
  return result;
}

}  // namespace

Statement assemble(const StatementParts& parts) {
  Statement s = assemble(parts, true);
  s.combiner = parts.combiner;
  s.values = parts.values;
  // A region's iterator is no reduction even if no write uses it: its loop has an order of its
  // own.
  for (std::size_t i = parts.regions.size(); i < s.iterators.size(); ++i) {
    if (s.combiner != Combiner::None && !is_subscript(s.writes, s.iterators[i]))
      s.reductions.push_back(s.iterators[i]);
  }
  return s;
}

std::vector<Statement> assemble_reduction(const StatementParts& parts,
                                          const std::vector<Expr>& initial) {
  Statement init = assemble(parts, false);
  init.values = initial.empty() ? identities_of(parts.combiner, parts.values) : initial;
  Statement update = assemble(parts);
  init.name = parts.name + ".init";
  update.name = parts.name + ".update";
  return {init, update};
}

std::string default_name(Combiner combiner, const std::string& buffer) {
  return combiner == Combiner::None ? buffer : buffer + ".update";
}

namespace {

// Over an iterator's range: in each term the end that makes it greatest, or least. Exact where all
// terms grow the same way, else no less than the greatest.
Affine extreme_of(const Affine& e, const Range& range, bool greatest) {
  Affine result = e.constant();
  for (const Term& term : e.terms()) {
    const bool up = (term.coefficient > 0) == greatest;
    Affine value = of_term({term.atom, 1});
    // A quotient by a positive number grows with its numerator, so its end is found inside.
    if (term.atom.div)
      value =
          floor_div(extreme_of(term.atom.div->numerator, range, up), term.atom.div->denominator);
    else if (term.atom.symbol == range.name)
      value = up ? range.end - 1 : range.begin;
    result = result + value * term.coefficient;
  }
  return result;
}

// Remainders stand as c * (x - d * (x // d)): c * (d - 1) at most, and less where x is smaller.
Affine without_remainders(const Affine& e, const Ranges& known) {
  for (const Term& term : e.terms()) {
    if (!term.atom.div || term.coefficient % term.atom.div->denominator != 0) continue;
    // e = rest + c * (x % d), where x % d is written x - d * (x // d): the coefficient of x // d
    // is -c * d. If x lies in 0..d-1 the remainder is x itself; otherwise its greatest value is
    // d - 1, its least 0.
    const Affine& x = term.atom.div->numerator;
    const std::int64_t d = term.atom.div->denominator, c = -term.coefficient / d;
    const Affine rest = e - x * c - of_term(term);
    const Interval at = range_of(x, known);
    const bool is_whole = at.min && at.max && *at.min >= 0 && *at.max < d;
    return without_remainders(rest, known) + (is_whole ? x * c : Affine(c > 0 ? c * (d - 1) : 0));
  }
  return e;
}

Ranges constant_ranges(const std::vector<Range>& ranges) {
  Ranges known;
  for (const Range& range : ranges)
    if (range.begin.is_constant() && range.end.is_constant())
      known[range.name] = {range.begin.constant(), range.end.constant() - 1};
  return known;
}

}  // namespace

// The greatest subscript, plus one. Inner ranges are put in first, since their ends may mention
// outer iterators.
std::vector<Affine> extents_of(const Access& write, const std::vector<Range>& ranges) {
  std::vector<Affine> shape;
  for (const Index& index : write.indices) {
    Affine last = without_remainders(index.affine, constant_ranges(ranges));
    for (std::size_t i = ranges.size(); i-- > 0;) last = extreme_of(last, ranges[i], true);
    shape.push_back(last + 1);
  }
  return shape;
}

}  // namespace polyte::ir
