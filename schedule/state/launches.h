// Launches: what a tree means on a GPU. Every outermost loop of blocks is one launch; the loops
// around it are the host's, and what stands beside it, in a sequence, is a launch of its own, in
// order. Below the blocks a loop of threads is a region: its iteration i runs on thread i of the
// block, and all threads meet at its end.
//
//   t > { block i > thread j > B; block i > thread j > A }     two launches in each iteration of t
//   block m.o > { thread t > acc.init; k.o > { thread e > x.in; thread t > acc.update }
//               ; thread t > y }
//
// No barrier can diverge: between two regions no loop of threads is open, so every thread
// reaches it.
#pragma once

#include <optional>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::schedule {

inline constexpr int kMostBlockLoops = 3;  // axes of a grid

// True where a loop is bound to blocks, threads, warps or lanes.
bool is_for_device(const Tree& tree);

// Malformed, with every problem: kinds that do not nest as a GPU's do; loops of threads whose
// iterations do not count from 0 or are too many; storage where its memory cannot be, as shared
// memory in a tree without blocks.
std::optional<Refusal> check_launches(const State& state, const Machine& machine);

}  // namespace polyte::schedule
