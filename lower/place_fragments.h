// place_fragments: registers that instructions of whole warps take their operands from
// (ir/intrinsics.h) are spread over the lanes as the instruction has it. A buffer's tile of 16 by 8
// becomes the 4 registers of 32 lanes,
//
//   alloc acc: f32[64, 32] in register       ->    alloc acc: f32[4, 4, 4, 32] in register of lanes
//   acc[16*p + i, 8*q + j]                   ->    acc[p, q, 2*(i//8) + j%2, 4*(i%8) + j//2]
//
// and whatever else a warp does with the tile, point by point, is done by all lanes, each where
// its registers are:
//
//   warp w                                     warp w
//     for i in 0..16                             lane l
//       for j in 0..8                   ->         unrolled a in 0..2
//         y[.. + i, .. + j] = acc[.. + i, .. + j]    vector b in 0..2
//                                                      y[.. + l//4 + 8*a, .. + 2*(l%4) + b]
//                                                        = acc[.., 2*a + b, l]
//
// That lanes may share those loops, schedule/state/fragments.h has seen to and the proof
// has checked.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram place_fragments(const ir::LoopProgram& program);

}  // namespace polyte::lower
