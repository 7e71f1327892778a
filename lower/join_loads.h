// join loads: what stores beside each other read from neighbours in shared memory comes at once,
// as one access of the thread, of 16 bytes at most, where the subscripts say that the address is
// a multiple of them.
//
//   acc[0] = fma(x.p[k, 8*t], b, acc[0])              alloc x.p.v: f32[2] in register
//   acc[1] = fma(x.p[k, 8*t + 1], b, acc[1])     ->     x.p.v[0; 2 by 1] = x.p[k, 8*t; 2 by 1]
//                                                       acc[0] = fma(x.p.v[0], b, acc[0])
//                                                       acc[1] = fma(x.p.v[1], b, acc[1])
//
// LLVM does so later, if nobody has; but then what is said and counted of accesses would not be
// what the GPU does.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram join_loads(const ir::LoopProgram& program);

}  // namespace polyte::lower
