// Printing expressions as Program text has them, so that parsing gives the same tree. A
// literal or an index value takes its type from its neighbour (`x[i] + 1`, `0.5 * x[i]`); where
// no neighbour says it, the type is written as a call: `f32(1)`. The parser's side of this
// rule is ir/expr_parser.h.
#pragma once

#include <functional>
#include <string>

#include "ir/expr.h"

namespace polyte::ir {

struct ExprStyle {
  // True where the guard of a load is the one that `x[...] else v` implies; otherwise it
  // is written out.
  std::function<bool(const Load&)> is_implied_guard;
};

// `typed`: the place itself says the type (the right-hand side of a store), so a lone literal
// stays bare.
std::string print_expr(const Expr& e, const ExprStyle& style, bool typed = true);
// "i - 1, idx[j] + 2".
std::string print_indices(const std::vector<Index>& indices, const ExprStyle& style);
std::string print_conjunction(const std::vector<Constraint>& constraints);  // "i >= 1 and i < N"
std::string print_count(std::size_t count, const std::string& noun);        // "2 subscripts"

}  // namespace polyte::ir
