// Recurrences over steps in which a sum takes most of its terms from steps that are long finished:
// the trailing updates of a factorisation. The steps come in blocks. Within a block its terms are
// added step by step, as the order has them; those of a finished block are a product of matrices
// for every element behind it, in tiles that stay in registers (right-looking, blocked: Dongarra,
// Du Croz, Hammarling, Duff, *A set of level 3 basic linear algebra subprograms*; Gustavson,
// *Recursion leads to automatic variable blocking for dense linear-algebra algorithms*).
//
//   c > a > { b > S1; <b> > S0 }                          S0: A[a, b] -= A[a, c] * A[c, b]
//   c.o > { c.i > a > { b > S1; b.o > <b.i> > S0.near };
//           a.o > b.o > a.i.o > b.i.o > c.i > [a.i.i] > <b.i.i> > S0.far }
#pragma once

#include <vector>

#include "poly/order_plan.h"

namespace polyte::poly {

// The cheapest size of blocks, with the statements of a step in one or two orders. Empty where
// no band of the order has such a sum, or none with elements that are neighbours along one of its
// loops. Prices are of the kind of plans_of()'s.
std::vector<OrderPlan> plans_in_blocks(const ir::Program& program, const schedule::State& reference,
                                       const std::string& name, const OrderTree& tree,
                                       const Machine& machine, bool keep_order);

}  // namespace polyte::poly
