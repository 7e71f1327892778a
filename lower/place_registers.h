// place_registers: place_buffers for a GPU. Each element of a Register buffer is a register of
// its thread where all subscripts of it are numbers, after unrolling; one that has others becomes
// memory of the thread, however large, and `notes` says why.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram place_registers(const ir::LoopProgram& program, std::vector<std::string>& notes);

}  // namespace polyte::lower
