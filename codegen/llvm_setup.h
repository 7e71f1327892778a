// What every use of LLVM in this folder starts from: the target registered once a process, the triple, and one
// TargetMachine a job (position-independent code, small code model: objects become shared objects).
// Internal: includes LLVM headers.
#pragma once

#include <memory>

#include "codegen/codegen.h"
#include "codegen/target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

namespace polyte::codegen {

inline constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

const llvm::Target& llvm_target();  // registers the target on first use; thread-safe
std::string feature_string(const Machine& machine);
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target, const CodegenOptions& options);

}  // namespace polyte::codegen
