// A sum whose operands are read by many: a tile of sums a block, in registers spread over its threads; operands come
// through shared memory, a slice of the sum at a time.
//
//   block m.o > block n.o > { thread t > [m.i.i] > [n.i.o] > acc.init
//                           ; k.o > { thread > x.in; thread > w.in; thread t > k.i > [m.i.i] > [n.i.o] > acc.update }
//                           ; thread t > [m.i.i] > [n.i.o] > y }
//
// Which loops, and how far, is asked of schedule/cost/gpu_tile.h. Neighbouring threads have neighbouring lanes, so that
// a warp reads and writes whole sectors.
#pragma once

#include <optional>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct BlockNest {
  const ir::Program* program = nullptr;
  const schedule::State* reference = nullptr;
  const Machine* machine = nullptr;
  const Cluster* cluster = nullptr;  // a sum, with its initial value
  int number = 0;                    // of the nest in its kernel
};

// None where no operand is shared, or where the sums are not at places of their own.
std::optional<schedule::NestPlan> plan_block_nest(const BlockNest& nest);

}  // namespace polyte::poly
