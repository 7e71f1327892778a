#include "ir/statement_parts.h"

#include <algorithm>

#include "ir/domain.h"

namespace polyte::ir {
namespace {

void add_range(Statement& s, const Range& range) {
  s.iterators.push_back(range.name);
  if (!range.bounded) return;
  const Affine it = Affine::symbol(range.name);
  s.domain.push_back(at_least(it, range.begin));
  s.domain.push_back(less_than(it, range.end));
}

bool is_subscript(const std::vector<Access>& writes, const std::string& iterator) {
  return std::any_of(writes.begin(), writes.end(), [&](const Access& write) {
    return std::any_of(write.indices.begin(), write.indices.end(),
                       [&](const Index& index) { return index.affine.uses(iterator); });
  });
}

Statement assemble(const StatementParts& parts, bool with_reductions) {
  Statement s;
  s.name = parts.name;
  s.region_depth = static_cast<int>(parts.regions.size());
  for (const Range& range : parts.regions) add_range(s, range);
  for (const Range& range : parts.ranges) add_range(s, range);
  for (const Range& range : parts.reductions)
    if (with_reductions) add_range(s, range);
  for (const Constraint& c : parts.where) {
    const bool uses_reduction =
        std::any_of(parts.reductions.begin(), parts.reductions.end(),
                    [&](const Range& range) { return c.expr.uses(range.name); });
    if (with_reductions || !uses_reduction) s.domain.push_back(c);
  }
  s.writes = parts.writes;
  s.guard = parts.guard;
  return s;
}

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

// The greatest subscript, plus one. Inner ranges are put in first, since their ends may mention
// outer iterators; each goes to the end that makes the subscript larger.
std::vector<Affine> extents_of(const Access& write, const std::vector<Range>& ranges) {
  std::vector<Affine> shape;
  for (const Index& index : write.indices) {
    Affine last = index.affine;
    for (std::size_t i = ranges.size(); i-- > 0;) {
      const std::int64_t coefficient = last.coefficient(ranges[i].name);
      const Affine extreme = coefficient > 0 ? ranges[i].end - 1 : ranges[i].begin;
      last = substitute(last, {{ranges[i].name, extreme}});
    }
    shape.push_back(last + 1);
  }
  return shape;
}

}  // namespace polyte::ir
