// divide_registers: registers that a block allocates for all its threads become registers of each
// thread. An element belongs to one thread (the proof has seen to it), so the part of a subscript
// that the thread's number makes says only which thread's it is, and goes.
//
//   alloc acc: f32[64, 4] in register              alloc acc: f32[4, 4] in register of each thread
//     thread t { acc[4*(t//16) + i, j] = .. }  ->    thread t { acc[i, j] = .. }
//
// What is left may be a multiple of something, as 128*i of rows that 128 threads share; then it
// is divided by that.
//
// Of registers of lanes (place_fragments.h) it is the warp that goes, and the lane stays.
//
// Where the accesses differ in that part, the subscript stays as it is: right, but no register.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram divide_registers(const ir::LoopProgram& program);

}  // namespace polyte::lower
