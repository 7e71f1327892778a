#include "schedule/proof/subscript_value.h"

#include <algorithm>
#include <cmath>

namespace polyte::schedule {
namespace {

using ir::Affine;

std::string subscript_symbol(std::size_t dimension) { return "@" + std::to_string(dimension); }

// The value over the subscripts, where those of its iterators that occur are plain: i, or i + 3.
std::optional<Affine> over_subscripts(const ValueAtAccess& at) {
  ir::Bindings iterators;
  for (std::size_t d = 0; d < at.access->indices.size(); ++d) {
    const ir::Index& index = at.access->indices[d];
    if (index.indirect) continue;
    if (const auto iterator = (index.affine - index.affine.constant()).as_symbol())
      iterators.try_emplace(*iterator,
                            Affine::symbol(subscript_symbol(d)) - index.affine.constant());
  }
  std::set<std::string> used;
  at.value.collect_symbols(used);
  const bool is_plain =
      std::ranges::all_of(used, [&](const std::string& name) { return iterators.contains(name); });
  return is_plain ? std::optional(ir::substitute(at.value, iterators)) : std::nullopt;
}

// First form: every iterator in the value is a subscript by itself, so the value is a function of
// the element.
bool is_function_of_plain_subscripts(const std::vector<ValueAtAccess>& all) {
  const std::optional<Affine> first = over_subscripts(all.front());
  return first && std::ranges::all_of(
                      all, [&](const ValueAtAccess& at) { return over_subscripts(at) == first; });
}

double coefficient_of(const Affine& e, const ir::Atom& atom) {
  for (const ir::Term& term : e.terms())
    if (term.atom == atom) return static_cast<double>(term.coefficient);
  return 0;
}

// Of an atom: its coefficient in each subscript, then in the value.
using Row = std::vector<double>;

std::vector<Row> equations_of(const ValueAtAccess& at) {
  std::vector<Row> rows;
  std::set<ir::Atom> seen;
  const auto see = [&](const Affine& e) {
    for (const ir::Term& term : e.terms()) {
      if (!seen.insert(term.atom).second) continue;
      Row& row = rows.emplace_back();
      for (const ir::Index& index : at.access->indices)
        row.push_back(index.indirect ? 0 : coefficient_of(index.affine, term.atom));
      row.push_back(coefficient_of(at.value, term.atom));
    }
  };
  for (const ir::Index& index : at.access->indices)
    if (!index.indirect) see(index.affine);
  see(at.value);
  return rows;
}

// Second form: value = f_1 * subscript_1 + .. + f_n * subscript_n + constant. Each atom (iterator
// or division) gives a linear equation in the f; Gauss-Jordan elimination over doubles, rounded.
// A wrong guess does no harm: `is_sum_of_subscripts` subtracts exactly and looks at what is left.
//
//   A[8*t + i, j], value t*8 + i + 5       8 f_1 = 8 (t),  f_1 = 1 (i),  f_2 = 0 (j):  f = (1, 0)
std::vector<std::int64_t> guess_factors(const ValueAtAccess& at) {
  std::vector<Row> rows = equations_of(at);
  const std::size_t dimensions = at.access->indices.size();
  std::vector<std::int64_t> factors(dimensions, 0);
  std::vector<std::size_t> pivots;  // the column of each row that was taken
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::size_t taken = pivots.size();
    for (std::size_t r = taken; r < rows.size(); ++r) {
      if (rows[r][d] == 0) continue;
      std::swap(rows[r], rows[taken]);
      pivots.push_back(d);
      break;
    }
    if (pivots.size() == taken) continue;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double times = rows[r][d] / rows[taken][d];
      for (std::size_t c = 0; c <= dimensions && r != taken; ++c)
        rows[r][c] -= times * rows[taken][c];
    }
  }
  for (std::size_t r = 0; r < pivots.size(); ++r)
    factors[pivots[r]] = std::llround(rows[r][dimensions] / rows[r][pivots[r]]);
  return factors;
}

bool is_sum_of_subscripts(const std::vector<ValueAtAccess>& all) {
  const std::vector<std::int64_t> factors = guess_factors(all.front());
  std::optional<Affine> constant;
  for (const ValueAtAccess& at : all) {
    Affine rest = at.value;
    for (std::size_t d = 0; d < factors.size(); ++d) {
      if (factors[d] == 0) continue;
      if (at.access->indices[d].indirect) return false;
      rest = rest - at.access->indices[d].affine * factors[d];
    }
    if (!rest.is_constant() || (constant && rest != *constant)) return false;
    constant = rest;
  }
  return true;
}

}  // namespace

bool is_value_of_element(const std::vector<ValueAtAccess>& all) {
  if (all.empty()) return true;
  return is_function_of_plain_subscripts(all) || is_sum_of_subscripts(all);
}

}  // namespace polyte::schedule
