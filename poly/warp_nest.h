// A sum of products that an instruction of a warp computes: a tile of sums per block and of these
// a tile per warp, in registers of its lanes; slices of the operands in shared memory, swizzled for
// ldmatrix, some of them under way.
//
//   block m.o > block n.o > { warp t > [m.i.i.o] > [n.i.i.o] > tile > acc.init
//                           ; k.o > { thread > x.in; thread > w.in
//                                   ; warp t > [k.i.o] > [m.i.i.o] > [n.i.i.o] > tile
//                                     > acc.update }
//                           ; warp t > [m.i.i.o] > [n.i.i.o] > tile > y }
//
// Which loops, and how far, is asked of schedule/cost/warp_tile.h.
#pragma once

#include <optional>

#include "poly/sum_tile.h"

namespace polyte::poly {

// None where no instruction computes the sum, or where multiply-adds of threads are as fast.
std::optional<SumPlan> plan_warp_nest(const SumNest& nest);

}  // namespace polyte::poly
