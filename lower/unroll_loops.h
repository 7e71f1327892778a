// unroll_loops: an Unrolled loop becomes its iterations side by side, in order; loops and
// allocations of the copies get fresh names. Iterations that a second bound may cut off stand
// under a guard.
//
//   unrolled m.i in 0..2              acc[14*m.o] = ...
//     acc[14*m.o + m.i] = ...   ->    acc[14*m.o + 1] = ...
//
// So does a serial loop that chooses registers, as far as it can be unrolled: they have no address.
//
//   alloc acc: f64[4, 8] in register
//     for k in (4*o)..(4*o + 3)         acc[1, 0; 8 by 0,1] = ..      k = 4*o
//       acc[k - 4*o + 1, 0; ..] = ..    acc[2, 0; 8 by 0,1] = ..      k = 4*o + 1
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
