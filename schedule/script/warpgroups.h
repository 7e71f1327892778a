// Instructions of a warpgroup (ir::Scope::Warpgroup): four warps side by side run one, each its 16
// rows, and read both operands from shared memory, where these have to lie as ir/shared_matrix.h
// has it. What a script says of that:
//
//   the loop of warps      a multiple of 4 iterations, which run all of them; rows move by 16 with
//                          it, columns not
//   stage x .. in shared   rows of 128 bytes, 64 elements of 16 bits, along the sum or across it
//   swizzle x by 8
//   pad x: ..              where sizes cut tiles short
#pragma once

#include <optional>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

// All that is otherwise, once the script is complete; nothing where all is as it should be.
std::optional<Refusal> check_warpgroups(const State& state);

}  // namespace polyte::schedule
