// What a kernel reads at run time it does not trust: a subscript with an indirect part becomes
//
//   x[i + {idx[i]}]   ->   x[{within(i + idx[i], extent)}]
//
// where `within` ends the kernel with an error (POLYTE_OUT_OF_BOUNDS) and gives 0 if its value is
// no place of the dimension. Lanes that do not touch memory are not checked.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram check_subscripts(const ir::LoopProgram& program);

}  // namespace polyte::lower
