// What works term by term on affine expressions.
#pragma once

#include "ir/affine.h"

namespace polyte::ir {

Affine of_term(const Term& term);                        // the value of one term alone
bool hides(const Affine& e, const std::string& symbol);  // in a division
// e / g, rounded down, for the greatest g that divides every coefficient: it is >= 0 where e is.
Affine without_common_factor(const Affine& e);

}  // namespace polyte::ir
