// What the accesses of a GPU's kernels cost in memory, as text: predicted from the loops, or
// counted by the emulator.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "runtime/emulator.h"

namespace polyte::cli {

// --emit memory: one block of text per launch. UserError where sizes are open.
std::string predicted_memory(const ir::LoopProgram& program);

// The same of what ran.
std::string counted_memory(const runtime::LaunchCounts& launch);
// In one line: "shared memory 1024 wavefronts (1024 without conflicts), global memory ..."; empty:
// nothing was counted.
std::string memory_totals(const runtime::LaunchCounts& launch);

}  // namespace polyte::cli
