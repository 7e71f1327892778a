// Two contractions with the softmax of a row between them in one pass over the keys: no score
// leaves the block. Its time is predicted for tiles of several sizes, and so is the least that the
// nests would take which isl's order gives; it is taken where it is less.
//
//   block h > block i.o > { thread t > u.init
//                         ; j.o > { scores of a tile, in registers; m with those before
//                                 ; weights, in shared memory; u.scale; u.update }
//                         ; thread t > o }
//
// Operands of 16 bits go to tensor cores (attention_warps.h). Sums of floating-point numbers are
// scaled in between and added in another order: the contract names the keys' loop.
#pragma once

#include <optional>
#include <string>

#include "schedule/cost/softmax_product.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct AttentionNest {
  const ir::Program* program = nullptr;
  const schedule::State* reference = nullptr;
  const Machine* machine = nullptr;
  schedule::SoftmaxProduct form;
  int number = 0;  // of the nest in its kernel
  // isl has fused all of it: its rows would stay together, else each sum is a launch.
  bool is_one = false;
};

struct AttentionPlan {
  std::optional<schedule::NestPlan> plan;  // none: it is not worth it, or not to be had
  // With what was predicted; empty: it was never a question.
  std::string why;
};
AttentionPlan plan_attention_nest(const AttentionNest& nest);

// What --explain says: cycles of the best tile, 0 where none fits, and those of other nests.
std::string attention_note(const AttentionNest& nest, double cycles, double others);

}  // namespace polyte::poly
