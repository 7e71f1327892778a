#include "poly/over_loops.h"

#include <algorithm>

#include "ir/facts.h"
#include "schedule/state/digits.h"

namespace polyte::poly {
namespace {

// The statement with its loops as iterators: the State's inverse, i = 64 * i.o + i.i, replaces the
// old ones in all subscripts. Its domain is the range of each loop, what the directives have added,
// and the old domain in the new iterators; loops that no subscript of the write uses are the sum's.
ir::Statement statement_over_loops(const schedule::State& state,
                                   const schedule::ScheduledStatement& s) {
  const ir::Ranges ranges = schedule::loop_ranges(state, s);
  ir::Statement result = s.body;
  result.iterators.clear();
  for (const schedule::LoopRow& row : s.rows) result.iterators.push_back(row.loop);
  for (ir::Access& write : result.writes)
    for (ir::Index& index : write.indices) {
      index.affine = ir::simplified(ir::substitute(index.affine, s.inverse), ranges);
      if (index.indirect) index.indirect = ir::substitute(index.indirect, s.inverse);
    }
  for (ir::Expr& value : result.values) value = ir::substitute(value, s.inverse);
  if (result.guard) result.guard = ir::substitute(result.guard, s.inverse);
  result.domain.clear();
  for (const std::string& loop : result.iterators)
    if (const auto range = ranges.find(loop); range != ranges.end()) {
      if (range->second.min)
        result.domain.push_back(ir::at_least(ir::Affine::symbol(loop), *range->second.min));
      if (range->second.max)
        result.domain.push_back(ir::at_least(*range->second.max, ir::Affine::symbol(loop)));
    }
  result.domain.insert(result.domain.end(), s.loop_domain.begin(), s.loop_domain.end());
  for (const ir::Constraint& c : s.body.domain)
    result.domain.push_back(ir::substitute(c, s.inverse));
  const auto is_free = [&](const std::string& loop) {
    return std::ranges::any_of(result.writes.front().indices,
                               [&](const ir::Index& index) { return index.affine.uses(loop); });
  };
  // Of acc[m] += x[m, k] with k split: reductions k.o and k.i.
  if (!result.reductions.empty()) {
    result.reductions = result.iterators;
    std::erase_if(result.reductions, is_free);
  }
  return result;
}

}  // namespace

ir::Program over_loops(const schedule::State& state) {
  ir::Program program = *state.basis;
  program.statements.clear();
  program.order.clear();
  for (const schedule::ScheduledStatement& s : state.statements) {
    program.order.emplace_back(program.statements.size());
    program.statements.push_back(statement_over_loops(state, s));
  }
  return program;
}

}  // namespace polyte::poly
