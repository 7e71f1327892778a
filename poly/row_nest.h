// Rows on a GPU: sums along a row and what is made of them, in one launch. A block has one row
// or several, its threads lie along them; a sum is taken by each thread for its own terms, then
// by lanes of one warp, half as many in each step, from register to register. Where a row has one
// warp, that is all: no shared memory, no barrier. Else shared memory brings the threads' sums to
// the first warp, and the whole sum back. Temporaries of a row stay in registers where the thread
// that made an element is the one that reads it.
//
//   top[i] = max[j] x[i, j]
//   e[i, j] = exp(x[i, j] - top[i])
//     ->   block i.o > { warp i.i > lane j.i > { top_p.init; j.o > top_p.update }
//                      ; warp i.i > lane > top_q ; .. top_q_8, _4, _2 ; warp i.i > top
//                      ; warp i.i > lane j.i > [j.o] > e ; .. }
//
// A sum of floating-point numbers is taken in another order so: the contract names its loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct RowNest {
  const ir::Program* program = nullptr;
  const schedule::State* reference = nullptr;
  const Machine* machine = nullptr;
  std::vector<BandMember> shared;  // the loops of the rows, outermost first
  std::vector<const Cluster*> parts;
  int number = 0;           // of the nest in its kernel
  bool keep_order = false;  // of floating-point sums
};

// None where there are no rows, where they are short, or where a thread per row is as good.
std::optional<schedule::NestPlan> plan_row_nest(const RowNest& nest);

}  // namespace polyte::poly
