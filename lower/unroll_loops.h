// unroll_loops: an Unrolled loop becomes its iterations side by side, in order; loops and
// allocations of the copies get fresh names. Iterations that a second bound may cut off stand
// under a guard.
//
//   unrolled m.i in 0..2              acc[14*m.o] = ...
//     acc[14*m.o + m.i] = ...   ->    acc[14*m.o + 1] = ...
//
// Between the steps of a reduction into registers stands a Fence: without it LLVM merges loads
// across the steps and spills. A loop without a constant extent, or one that would give too many
// statements, becomes Serial, and `notes` says so.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

inline constexpr std::int64_t kMaxUnrolledStores = 2048;  // below one unrolled loop

// Stores below s once the unrolled loops are copies, as far as their extents are numbers.
std::int64_t count_unrolled_stores(const ir::Stmt& s);

ir::LoopProgram unroll_loops(const ir::LoopProgram& program, std::vector<std::string>& notes);

}  // namespace polyte::lower
