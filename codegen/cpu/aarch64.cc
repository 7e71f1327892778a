// AArch64: NEON, which every processor of the kind has, does all that is asked of it with plain
// LLVM IR: fused products, half floats, rounding and IEEE 754-2019's minimum and maximum are
// one instruction each.
#include <elf.h>

#include "codegen/cpu/backend.h"

#include <llvm/Support/TargetSelect.h>

namespace polyte::codegen {
namespace {

void register_aarch64() {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser();
}

std::unique_ptr<const Instructions> aarch64_instructions(const Machine& /*machine*/) {
  return std::make_unique<const Instructions>(
      Instructions::Has{.fma = true, .half_floats = true, .rounding = true});
}

}  // namespace

const Backend& aarch64_backend() {
  static constexpr Backend kBackend{"aarch64-unknown-linux-gnu", "generic", EM_AARCH64,
                                    register_aarch64, aarch64_instructions};
  return kBackend;
}

}  // namespace polyte::codegen
