// What the artifacts of models and of operators have in common: what the loops say of their kernel,
// and the constants.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "driver/compile/device_code.h"
#include "driver/package/constant_pool.h"
#include "ir/loop_program.h"
#include "runtime/artifact.h"

namespace polyte::driver {

bool has_parallel_loop(const ir::LoopProgram& program);
std::set<std::string> buffers_read(const ir::LoopProgram& program);
std::vector<std::int64_t> packed_sizes(const BuiltKernel& kernel);  // bytes of what it wants packed
void take_kernels(const std::string& library, runtime::ArtifactParts& parts);
// Of a GPU: its code, and what the assembler said of it in the report.
void take_device(std::span<const DeviceCode> modules, runtime::ArtifactParts& parts);
// Fills the pool, which may be empty, and tells the buffers where their constants are.
void take_constants(ConstantPool& pool, int jobs, runtime::ArtifactParts& parts);

}  // namespace polyte::driver
