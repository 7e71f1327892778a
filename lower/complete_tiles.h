// complete_tiles: of a tile of registers that a diagonal cuts, all vectors are computed. The loop
// that sums them has no branch then, and its vectors share their loads as those of a whole tile do.
//
//   alloc acc: f64[2, 8] in register
//     for k in 0..K                                      for k in 0..K
//       acc[0; 8 by 1 if i - j..8] = fma(..,               acc[0; 8 by 1 if i - j..8] = fma(..,
//             x[k, j; 8 by 1 if i - j..8], ..)      ->           x[k, j; 8 by 1], ..)
//       if i + 1 <= j
//         acc[8; 8 by 1] = fma(.., x[k, j; 8 by 1], ..)    acc[8; 8 by 1] = fma(.., x[k, j; 8 by
//         1], ..)
//     if i + 1 <= j
//       y[i + 1, j; 8 by 1] = acc[8; 8 by 1]             unchanged
//
// A guard goes where it holds for all who read the registers, does not change inside their
// allocation, and what it guards only computes registers, by additions and products; a mask of a
// load goes where the vector is stored under the same. Either only where the loads stay inside
// their buffers without it, and no other thread may be writing these. What a lane that nobody reads
// holds is undefined: it may be of elements that were never written.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram complete_tiles(const ir::LoopProgram& program);

}  // namespace polyte::lower
