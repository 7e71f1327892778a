// The CPUs that code is generated for, one Backend each: x86.cc and aarch64.cc. What every
// use of LLVM in this folder starts from: the backend registered once per process, its triple,
// and one TargetMachine per job (position-independent code, small code model: objects become
// shared objects).
// Internal: includes LLVM headers.
#pragma once

#include <memory>

#include "codegen/common/instructions.h"
#include "codegen/common/kernel.h"
#include "support/target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

namespace polyte::codegen {

struct Backend {
  const char* triple;
  const char* generic_cpu;  // LLVM's name of what every processor of the kind can do
  int elf_machine;          // of its objects
  void (*register_with_llvm)();
  std::unique_ptr<const Instructions> (*instructions)(const Machine& machine);
};

const Backend& x86_backend();
const Backend& aarch64_backend();

const Backend& backend_of(TargetKind kind);
// Registers the backend on first use; thread-safe.
const llvm::Target& llvm_target(TargetKind kind);
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target,
                                                         const CodegenOptions& options);

}  // namespace polyte::codegen
