// cut_regions: partition_loops for a GPU. Threads all run one code, so nothing can be made a
// loop of its own; what loops of threads hold gets two forms, one for where nothing is cut short
// and one for the rest:
//
//   thread t in 0..64                             thread t in 0..64
//     for k in 0..K                                 if 4 <= M - 4*t
//       unrolled i in 0..min(4, M - 4*t)    ->        for k in 0..K
//         acc[i] += ..                                  unrolled i in 0..4    acc[i] += ..
//                                                   if M - 4*t <= 3
//                                                     for k in 0..K
//                                                       unrolled i in 0..min(4, M - 4*t)
//                                                         acc[i] += ..
//
// Of several conditions the rest is one copy each. Loops that are `uncut` keep their guards, and so
// does what would exceed the limit on growth.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram cut_regions(const ir::LoopProgram& program);

}  // namespace polyte::lower
