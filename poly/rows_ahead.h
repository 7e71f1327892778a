// A product in place whose steps come after the row that they are added to: a row reads those below
// it, which have not been changed yet. Rows come in blocks; what they take from each other is
// added first, step by step, and all rows below the block in tiles that stay in registers.
//
//   i > { k > j > S0; j > S1 }                S0: B[i, j] += A[k, i] * B[k, j], k above i
//   j.o > i.o > { k > i.i > <j.i> > S0.near;                                   k in the block
//                 j.i.o > k > [i.i] > <j.i.i> > S0.far;                        B[i, j] in registers
//                 i.i > <j.i> > S1 }
//
// The order of the terms of an element stays what it was.
#pragma once

#include <optional>

#include "poly/order_plan.h"

namespace polyte::poly {

// Nothing where the Program is no region of one loop over such a sum and definitions of its
// elements.
std::optional<OrderPlan> plan_of_rows_ahead(const ir::Program& program, const Machine& machine);

}  // namespace polyte::poly
