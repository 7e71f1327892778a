// place_launches: everything that a GPU runs stands inside loops of blocks, the outermost of which
// begins a launch. What stands beside them, or in loops that have none, is a launch of one block;
// loops around launches are the host's.
//
// Loops of a CPU's threads are serial there, and noted.
//
//   for t { block i { thread j { B } };  y = 0 }
//     ->   for t { block i { thread j { B } };  block b in 0..1 { y = 0 } }
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram place_launches(const ir::LoopProgram& program, std::vector<std::string>& notes);

}  // namespace polyte::lower
