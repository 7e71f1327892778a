#include "codegen/cpu/backend.h"

#include "support/error.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetOptions.h>

namespace polyte::codegen {
namespace {

// LLVM's schedulers compare every memory access of a block with every other one, and search each
// list of them: hundreds of scattered stores after a register tile took half of the time of code
// generation. Beyond this many the accesses of a block are ordered in groups. Loops have fewer, so
// their code stays as it is.
void limit_compared_accesses() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("dag-maps-huge-region");
  if (found != options.end()) found->second->addOccurrence(0, found->first(), "100");
}

const llvm::Target& registered(const Backend& backend) {
  static const bool limited = [] {
    limit_compared_accesses();
    return true;
  }();
  (void)limited;
  backend.register_with_llvm();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(backend.triple, error);
  POLYTE_CHECK(found != nullptr,
               std::string("LLVM was built without ") + backend.triple + ": " + error);
  return *found;
}

}  // namespace

const Backend& backend_of(TargetKind kind) {
  POLYTE_CHECK(kind != TargetKind::Cuda, "a GPU is no CPU");
  return kind == TargetKind::X86 ? x86_backend() : aarch64_backend();
}

const llvm::Target& llvm_target(TargetKind kind) {
  if (kind == TargetKind::X86) {
    static const llvm::Target& x86 = registered(x86_backend());
    return x86;
  }
  static const llvm::Target& aarch64 = registered(aarch64_backend());
  return aarch64;
}

// Position-independent, as every kernel ends in a shared object.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target,
                                                         const CodegenOptions& options) {
  const auto level = options.effort == CodegenOptions::Effort::Less
                         ? llvm::CodeGenOptLevel::Less
                         : llvm::CodeGenOptLevel::Default;
  llvm::TargetOptions llvm_options;
  llvm_options.MCOptions.AsmVerbose = true;
  return std::unique_ptr<llvm::TargetMachine>(
      llvm_target(target.kind)
          .createTargetMachine(backend_of(target.kind).triple, target.machine.cpu,
                               feature_string(target.machine), llvm_options, llvm::Reloc::PIC_,
                               llvm::CodeModel::Small, level));
}

}  // namespace polyte::codegen
