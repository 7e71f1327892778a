// hoist: what does not change in a serial loop is done once, before it.
//
//   for n in 0..64                                 if m >= 1
//     if m >= 1                               ->     for n in 0..64
//       y[16*n; 16 by 1] = ..                          y[16*n; 16 by 1] = ..
//
//   for n in 0..64                                 alloc x.h: f32[1] in register
//     y[16*n; 16 by 1] = fma(x16(x[k]), ...)  ->     x.h[0] = x[k]
//                                                    for n in 0..64
//                                                      y[16*n; 16 by 1] = fma(x16(x.h[0]), ...)
//
// Guards: a loop that is nothing but a guarded body (m >= 1 above). Loads: from innermost loops
// that run at least once, of elements that the loop does not name as a function of its variable and
// that none of its stores touches. What is read under a guard is read under it before the loop, too
// (the element need not exist otherwise), where the guard does not change in the loop.
//
//   for i in 48..96                                alloc A.h: f64[8] in register
//     if k <= 39                                     if k <= 39
//       A[i, k + 1; 8 by 0,1] = fma(..,                A.h[0; 8 by 1] = A[k + 1, k; 8 by 1,0]
//         A[k + 1, k; 8 by 1,0], ..)        ->        for i in 48..96  ..
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

inline constexpr int kMaxHoistedLoads = 8;  // a loop; more would only spill
// To the buffer of a load: of so many it is asked whether they touch its elements.
inline constexpr int kMostStoresApart = 64;

ir::LoopProgram hoist(const ir::LoopProgram& program);

}  // namespace polyte::lower
