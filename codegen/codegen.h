// From loops to machine code: LoopPrograms in Flat form -> one LLVM module -> one
// relocatable object.
//
//   Kernel kernel{.program = loops};
//   ObjectCode object = compile({&kernel, 1}, detect_host());
//   std::string library = link({object.bytes});  // cpu/link.h: exports `program.name`
//
// Each call has its own LLVM context, so calls may run in parallel on threads. The arithmetic
// is that of ir/expr.h bit for bit: no fast-math flag is ever set. The kernel's signature
// is support/kernel_abi.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/common/kernel.h"
#include "codegen/common/scratch.h"
#include "codegen/target.h"

namespace polyte::codegen {

struct ObjectCode {
  struct KernelInfo {
    std::string name;
    ScratchLayout scratch;
    std::vector<LaunchInfo> launches = {};  // of a GPU: its kernels, in the order of their launches
    // What could not be done as asked: a register buffer that lives in memory, ...
    std::vector<std::string> notes;
  };
  // ELF, relocatable, position independent; of a GPU: what launches its kernels.
  std::string bytes;
  std::string device;  // of a GPU: its kernels as PTX; empty where they are emulated
  std::vector<KernelInfo> kernels;
};

// Throws UserError for what the loops cannot ask for (too much stack, types that do not
// compute an operation), InternalError naming the kernel where LLVM itself gives up.
ObjectCode compile(std::span<const Kernel> kernels, const Target& target,
                   const CodegenOptions& options = {});

// The same module as text: LLVM IR after our passes, and assembly; of a GPU the device's module,
// assembly is PTX.
std::string emit_llvm_ir(std::span<const Kernel> kernels, const Target& target,
                         const CodegenOptions& options = {});
std::string emit_asm(std::span<const Kernel> kernels, const Target& target,
                     const CodegenOptions& options = {});

}  // namespace polyte::codegen
