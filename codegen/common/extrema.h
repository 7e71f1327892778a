// Minima and maxima of a CPU, after emission.
//
// Internal: includes LLVM headers.
#pragma once

#include "codegen/common/instructions.h"

#include <llvm/IR/Function.h>

namespace polyte::codegen {

// Those of a vector's lanes, which a block takes one after another, in pairs: three steps for eight
// lanes in place of eight that wait for each other. They are the same in any order; sums of
// floats are not, and stay.
//
//   m = max(m, v[0]); m = max(m, v[1]) .. m = max(m, v[7])
//   h = max(v[0..4], v[4..8]); q = max(h[0..2], h[2..4]); m = max(m, max(q[0], q[1]))
void reduce_lanes(llvm::Function& function);

// Those of floats as the target has them (Instructions::extremum).
void lower_extrema(llvm::Function& function, const Instructions& instructions);

}  // namespace polyte::codegen
