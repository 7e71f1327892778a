// What the artifacts of models and of operators have in common: what the loops say of their kernel, and the constants.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "driver/package/constant_pool.h"
#include "ir/loop_program.h"
#include "runtime/artifact.h"

namespace polyte::driver {

bool has_parallel_loop(const ir::LoopProgram& program);
std::set<std::string> buffers_read(const ir::LoopProgram& program);
std::vector<std::int64_t> packed_sizes(const BuiltKernel& kernel);  // bytes of what it wants packed
// Fills the pool, which may be empty, and tells the buffers where their constants are.
void take_constants(ConstantPool& pool, int jobs, runtime::ArtifactParts& parts);

}  // namespace polyte::driver
