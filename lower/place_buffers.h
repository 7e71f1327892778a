// place_buffers: allocations go where they can be. A Register buffer must have constant subscripts
// everywhere (after unrolling), in pieces of lanes that do not overlap in part, and no parallel
// loop inside (register_plan.h): codegen then keeps each piece as one SSA value. One that has not
// goes to the stack, and `notes` says why. Stack buffers that together exceed the limit go to the
// kernel's scratch, the largest first.
//
//   alloc acc.r: f32[14, 32] in register
//     ->   acc.r[0, 0; 16 by 0,1], acc.r[0, 16; 16 by 0,1], ...: 28 values
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

// Bytes of a kernel's stack buffers, as codegen has it.
inline constexpr std::int64_t kStackLimit = 16 * 1024;

ir::LoopProgram place_buffers(const ir::LoopProgram& program, std::vector<std::string>& notes);

}  // namespace polyte::lower
