// load_fragments: what an instruction of a whole warp reads from memory comes into registers of its
// lanes first. Of instructions side by side, each fragment is loaded once, before its first use:
//
//   tensorized mma_bf16_m16n8k16                 alloc x.f: bf16[1, 8, 32] in register of lanes
//     .. acc[..] += f32(x.c[..]) * f32(w.c[..])    tensorized ldmatrix_x4    x.f[..] = x.c[..]
//   tensorized mma_bf16_m16n8k16            ->     tensorized mma_bf16_m16n8k16
//     .. acc[..] += f32(x.c[..]) * f32(w.c[..])      .. acc[..] += f32(x.f[..]) * f32(w.f[..])
//                                                  tensorized mma_bf16_m16n8k16 ..
//
// Out of shared memory by ldmatrix, where rows of 16 bytes lie together at multiples of 16, in the
// direction of the fragment or, of 16-bit elements, across it; two fragments of the second operand
// that lie beside each other are one load. From elsewhere each lane loads its own elements.
//
// Where a tile is cut short, what is beyond it is read as zero: by guarded loads, or as it lies in
// memory that copies have filled up (`zero_filled`).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram load_fragments(const ir::LoopProgram& program,
                               const std::set<std::string>& zero_filled,
                               std::vector<std::string>& notes);

}  // namespace polyte::lower
