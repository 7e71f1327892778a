// A sum whose operands are read by many: a tile of sums per block, in registers spread over its
// threads; operands come through shared memory, a slice of the sum at a time.
//
//   block m.o > block n.o > { thread t > [m.i.i] > [n.i.o] > acc.init
//                           ; k.o > { thread > x.in; thread > w.in
//                                   ; thread t > k.i > [m.i.i] > [n.i.o] > acc.update }
//                           ; thread t > [m.i.i] > [n.i.o] > y }
//
// Which loops, and how far, is asked of schedule/cost/gpu_tile.h. Neighbouring threads have
// neighbouring lanes, so that a warp reads and writes whole sectors.
#pragma once

#include <optional>

#include "poly/sum_tile.h"

namespace polyte::poly {

// None where no operand is shared, or where the sums are not at places of their own.
std::optional<SumPlan> plan_block_nest(const SumNest& nest);

}  // namespace polyte::poly
