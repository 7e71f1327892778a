// From loops to machine code: LoopPrograms in Flat form -> one LLVM module -> one relocatable object.
//
//   Kernel kernel{.program = loops};
//   ObjectCode object = compile({&kernel, 1}, detect_host());
//   std::string library = link({object.bytes});          // link.h: a shared object exporting `program.name`
//
// Each call has its own LLVM context, so calls may run in parallel on threads. The arithmetic is that of
// ir/expr.h bit for bit: no fast-math flag is ever set. The kernel's signature is support/kernel_abi.h.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/scratch.h"
#include "codegen/target.h"
#include "ir/loop_program.h"

namespace polyte::codegen {

struct Kernel {
  ir::LoopProgram program;    // Flat form; parameters are read at run time, from the buffer behind the last one
  std::vector<bool> aligned;  // per interface buffer: its address is a multiple of 64; empty: none is known to be
  // Interface buffers (result, operand) that may be one and the same memory; all others never overlap.
  std::vector<std::pair<std::size_t, std::size_t>> in_place = {};
};

struct CodegenOptions {
  enum class Effort { Less, Default };  // LLVM's code generation level
  Effort effort = Effort::Default;
};

struct ObjectCode {
  struct KernelInfo {
    std::string name;
    ScratchLayout scratch;
    std::vector<std::string> notes;  // what could not be done as asked: a register buffer that lives in memory, ...
  };
  std::string bytes;  // ELF, relocatable, position independent
  std::vector<KernelInfo> kernels;
};

// Throws UserError for what the loops cannot ask for (too much stack, types that do not
// compute an operation), InternalError naming the kernel where LLVM itself gives up.
ObjectCode compile(std::span<const Kernel> kernels, const Target& target, const CodegenOptions& options = {});

// The same module as text: LLVM IR after our passes, and assembly.
std::string emit_llvm_ir(std::span<const Kernel> kernels, const Target& target, const CodegenOptions& options = {});
std::string emit_asm(std::span<const Kernel> kernels, const Target& target, const CodegenOptions& options = {});

}  // namespace polyte::codegen
