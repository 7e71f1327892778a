// The two ways of running a device's code: as PTX on a GPU, and on this CPU, whose runtime emulates
// the threads (runtime/emulator.h) and is told of every access. Internal: includes LLVM headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/common/device_ops.h"
#include "codegen/common/instructions.h"
#include "support/machine.h"

#include <llvm/IR/ValueHandle.h>
#include <llvm/Target/TargetMachine.h>

namespace polyte::codegen {

std::unique_ptr<const DeviceOps> nvptx_ops(const Gpu& gpu);
std::unique_ptr<const DeviceOps> emulated_ops();

// Whose accesses these are, taken before passes run: an instruction that takes the place of
// another has no name left.
struct AccessName {
  llvm::WeakVH instruction;  // null once it is gone
  std::string statement, buffer;
};
using AccessNames = std::vector<AccessName>;
AccessNames access_names(llvm::Module& module);

// Calls polyte_emulated_thread::touch before every access to memory that is not the thread's own,
// in the kernels of emulated_ops. To be run on what will be compiled: masked accesses taken apart,
// values in registers.
void report_accesses(llvm::Module& module, const AccessNames& names);

// What a GPU's instructions do with plain LLVM IR. No libm: sin, cos and pow of f64 are not there.
std::unique_ptr<const Instructions> gpu_instructions();

std::string nvptx_triple();
std::unique_ptr<llvm::TargetMachine> make_nvptx_machine(const Gpu& gpu);

}  // namespace polyte::codegen
