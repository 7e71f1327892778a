// flatten: every access gets one linear subscript, row-major (Flat form). Shapes must be numbers.
//
//   x[i, j + 1; 16 by 0,1]   x: f32[8, 100]     ->    x[100*i + j + 1; 16 by 1]
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

// UserError(Unsupported) naming every buffer whose shape is symbolic.
ir::LoopProgram flatten(const ir::LoopProgram& program);

}  // namespace polyte::lower
