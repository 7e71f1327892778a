// hoist: what does not change in a serial loop is done once, before it.
//
//   for n in 0..64                                 alloc x.h: f32[1] in register
//     if m >= 1                                      x.h[0] = x[k]
//       y[16*n; 16 by 1] = fma(x16(x[k]), ...)  ->   for n in 0..64
//                                                      y[16*n; 16 by 1] = fma(x16(x.h[0]), ...)
//
// Guards: a loop that is nothing but a guarded body (m >= 1 here). Loads: from
// innermost loops that run at least once, of elements that the loop does not name as a function of
// its variable, of buffers that it does not write, and never from under a guard (the element need
// not exist there).
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

inline constexpr int kMaxHoistedLoads = 8;  // a loop; more would only spill

ir::LoopProgram hoist(const ir::LoopProgram& program);

}  // namespace polyte::lower
