#include "ir/steady_divisions.h"

#include <algorithm>

#include "ir/domain.h"
#include "support/checked.h"

namespace polyte::ir {
namespace {

// Outermost first: the bounds of an iterator use earlier ones, whose ranges are known by then.
// Of several bounds the tightest number counts.
Ranges iterator_ranges(const Statement& s) {
  Ranges ranges;
  const DomainBounds bounds = bounds_of(s.domain, s.iterators);
  for (std::size_t i = 0; i < s.iterators.size(); ++i) {
    Interval& range = ranges[s.iterators[i]];
    for (const Affine& low : bounds.of[i].lower)
      if (const auto least = range_of(low, ranges).min;
          least && (!range.min || *least > *range.min))
        range.min = least;
    for (const Affine& high : bounds.of[i].upper)
      if (const auto most = range_of(high, ranges).max; most && (!range.max || *most < *range.max))
        range.max = most;
  }
  return ranges;
}

// Of two values the one of more points; nullopt where there are more than two, or one. `change` is
// the first numerator with the second value: it has change - min points before it, and max - change
// + 1 from it on.
std::optional<std::int64_t> usual_value(const Interval& numerator, std::int64_t denominator) {
  if (!numerator.min || !numerator.max) return std::nullopt;
  const std::int64_t first = polyte::floor_div(*numerator.min, denominator),
                     last = polyte::floor_div(*numerator.max, denominator);
  if (last - first != 1) return std::nullopt;
  const std::int64_t change = last * denominator;
  return change - *numerator.min > *numerator.max - change ? first : last;
}

// Each division that takes two values replaced by the more frequent one, innermost first.
Affine steady(const Affine& e, const Ranges& ranges) {
  Affine result = e.constant();
  for (const Term& term : e.terms()) {
    if (!term.atom.div) {
      result = result + Affine::symbol(term.atom.symbol) * term.coefficient;
      continue;
    }
    const Affine numerator = steady(term.atom.div->numerator, ranges);
    const std::int64_t denominator = term.atom.div->denominator;
    const auto value = usual_value(range_of(numerator, ranges), denominator);
    result =
        result + (value ? Affine(*value) : floor_div(numerator, denominator)) * term.coefficient;
  }
  return result;
}

bool is_written(const Program& program, const std::string& buffer) {
  return std::ranges::any_of(program.statements, [&](const Statement& s) {
    return std::ranges::any_of(s.writes,
                               [&](const Access& write) { return write.buffer == buffer; });
  });
}

}  // namespace

std::optional<Program> with_steady_divisions(const Program& program) {
  Program planned = program;
  bool differs = false;
  for (Statement& s : planned.statements) {
    if (s.region_depth > 0 || !s.reductions.empty()) continue;
    const Ranges ranges = iterator_ranges(s);
    for (Expr& value : s.values)
      value = rewrite(value, [&](const Expr& leaf) -> Expr {
        const auto* load = std::get_if<Load>(&leaf->op);
        if (!load || is_written(program, load->buffer)) return leaf;
        Load copy = *load;
        for (Index& index : copy.indices) index.affine = steady(index.affine, ranges);
        if (std::ranges::equal(copy.indices, load->indices, {}, &Index::affine, &Index::affine))
          return leaf;
        differs = true;
        return std::make_shared<const ExprNode>(ExprNode{leaf->type, leaf->lanes, std::move(copy)});
      });
  }
  return differs ? std::optional(std::move(planned)) : std::nullopt;
}

}  // namespace polyte::ir
