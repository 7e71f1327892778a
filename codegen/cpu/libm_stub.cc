// An object with functions of libm's names and empty bodies, linked to a shared object that
// stands for libm while kernels are linked. So linking, for another processor too, needs no libm
// of its own on the machine. The types of the functions are of no concern: ELF symbols have none.
#include "codegen/cpu/libm_stub.h"

#include "codegen/common/crash_guard.h"
#include "codegen/cpu/backend.h"
#include "support/error.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

namespace polyte::codegen {

std::string libm_stub_object(TargetKind kind) {
  Target target{{}, kind};
  target.machine.cpu = backend_of(kind).generic_cpu;
  const auto machine = make_target_machine(target, {});
  llvm::LLVMContext context;
  llvm::Module module("libm", context);
  module.setTargetTriple(backend_of(kind).triple);
  module.setDataLayout(machine->createDataLayout());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  for (const char* name : {"fma", "fmaf", "pow", "powf", "sin", "sinf", "cos", "cosf"}) {
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    llvm::IRBuilder<>(llvm::BasicBlock::Create(context, "", function)).CreateRetVoid();
  }
  llvm::SmallString<0> bytes;
  const auto failure = run_guarded([&] {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
    passes.run(module);
  });
  POLYTE_CHECK(!failure, "the stub of libm: " + *failure);
  return std::string(bytes);
}

}  // namespace polyte::codegen
