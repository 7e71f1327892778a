// Powers whose exponent is a number, by multiplications and square roots: x^3 is x * x * x, x^-2 is
// (1 / x) * (1 / x), x^0.75 is sqrt(x) * sqrt(sqrt(x)). Within 4 ULP as `pow` is, with what C says
// of zeros, infinities and negative bases (ISO C23, F.10.4.4), and the same bits everywhere.
#pragma once

#include "ir/expr.h"

namespace polyte::ir {

// Of one float type. Other exponents than those for which 4 ULP are enough, and bases that are
// numbers or too large to be written several times, stay `pow`.
Expr make_power(Expr base, Expr exponent);

}  // namespace polyte::ir
