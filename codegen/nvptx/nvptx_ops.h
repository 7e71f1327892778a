// The two ways of running a device's code: as PTX on a GPU, and on this CPU, whose runtime plays the threads
// (runtime/emulator.h) and is told of every access. Internal: includes LLVM headers.
#pragma once

#include <memory>

#include "codegen/common/device_ops.h"
#include "codegen/common/instructions.h"
#include "support/machine.h"

#include <llvm/Target/TargetMachine.h>

namespace polyte::codegen {

std::unique_ptr<const DeviceOps> nvptx_ops(const Gpu& gpu);
std::unique_ptr<const DeviceOps> emulated_ops();

// Calls polyte_emulated_thread::touch before every access to memory that is not the thread's own, in the kernels of
// emulated_ops. To be run on what will be compiled: masked accesses taken apart, values in registers.
void report_accesses(llvm::Module& module);

// What a GPU's instructions do with plain LLVM IR. No libm: sin, cos and pow are not there.
std::unique_ptr<const Instructions> gpu_instructions();

std::string nvptx_triple();
std::unique_ptr<llvm::TargetMachine> make_nvptx_machine(const Gpu& gpu);

}  // namespace polyte::codegen
