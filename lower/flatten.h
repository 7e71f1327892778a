// flatten: every access gets one linear subscript, row-major (Flat form).
//
//   x[i, j + 1; 16 by 0,1]   x: f32[8, 100]   ->   x[100*i + j + 1; 16 by 1]
//   x[i, j + 1; 16 by 0,1]   x: f32[M, N]     ->   x[j + 1 + {i * N}; 16 by 1]
//
// In braces: products of open sizes.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram flatten(const ir::LoopProgram& program);

}  // namespace polyte::lower
