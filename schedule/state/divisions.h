// Divisions of floating-point numbers by what stays the same while a statement runs on, as the
// rows of a softmax have them: y[i, j] = e[i, j] / total[i]. A product with 1 / total[i] costs one
// division per row; where a sum of such quotients follows, the sum can be divided in place of its
// terms. The rewrites, their proofs and the notes on rounding all decide by these functions which
// divisions qualify.
#pragma once

#include <functional>
#include <optional>

#include "ir/program.h"

namespace polyte::schedule {

// Divisions in the values of the statement, in order of appearance; those in subscripts are
// left out.
std::vector<ir::Expr> divisions_of(const ir::Statement& s);
// Empty where all iterations of one of the statement's own iterators (no region's) divide by
// the same number, which is no constant; else why not: "x[i, j] / d[i, j] has another divisor
// in every iteration".
std::string why_not_shared(const ir::Statement& s, const ir::Expr& division);
// e with a * (1 / b) for every a / b that `chosen` accepts; subscripts stay.
ir::Expr with_reciprocals(const ir::Expr& e,
                          const std::function<bool(const ir::Expr& division)>& chosen);

// The terms of a sum without a divisor that all terms of an element have in common: of
// o[i, c] += e[i, j] / total[i] * v[j, c]  the term e[i, j] * v[j, c], and total[i].
struct CommonDivisor {
  ir::Expr term, divisor;
};
// nullopt where there is none, where the update is no plain sum, or an element is not one
// iterator per dimension.
std::optional<CommonDivisor> common_divisor(const ir::Statement& update);

// The same where the quotient has a definition of its own, which this update alone reads: of
// p[i, j] = f16(e[i, j] / total[i]),  o[i, c] += f32(p[i, j]) * v[j, c]
// that of p, f16(e[i, j]), and total[i]. Where p is rounded to a narrower type, e has to be at most
// 1: exp(x - M), M being the maximum of x. Else it might be too large for the type where the
// quotient is not. Nothing writes the divisor between the two, or x and M between M and e.
struct DefinedQuotient {
  const ir::Statement* definition = nullptr;
  ir::Expr dividend;  // over the definition's iterators, rounded as the quotient was
  ir::Expr divisor;   // over the update's
};
std::optional<DefinedQuotient> defined_quotient(const ir::Program& program,
                                                const ir::Statement& update);

}  // namespace polyte::schedule
