// What the two halves of affine expressions share (affine.cc, affine_division.cc).
#pragma once

#include "ir/affine.h"

namespace polyte::ir {

Affine of_term(const Term& term);  // the value of one term alone

}  // namespace polyte::ir
