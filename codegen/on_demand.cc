// The functions of this folder for a program without LLVM: each asks the library that holds
// them. See functions.h.
#include <dlfcn.h>

#include "codegen/functions.h"
#include "support/error.h"

namespace polyte::codegen {

extern const char* const kModuleDigest;  // cmake/embed_digest.cmake

namespace {

[[gnu::used]] const char* const* const kLoads = &kModuleDigest;

// Only the loader's text says why: resources that have run out, or a file that is not there.
[[noreturn]] void refuse(const std::string& why) {
  for (const char* limit :
       {"Cannot allocate memory", "Too many open files", "failed to map", "cannot create"})
    if (why.find(limit) != std::string::npos)
      throw UserError(ExitStatus::ResourceLimit,
                      std::string(POLYTE_CODEGEN_MODULE) + " cannot be loaded: " + why);
  throw UserError(ExitStatus::InvalidInput,
                  std::string(POLYTE_CODEGEN_MODULE) +
                      ", which polyte needs to compile, cannot be loaded: " + why +
                      "; a copy of the program alone cannot compile, run it from its build folder "
                      "or installation");
}

// The library stays open: errors that it throws outlive the call, and their types are its own. The
// loader finds it beside the program by the run path of the program's file.
const Functions& load() {
  void* const library = dlopen(POLYTE_CODEGEN_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(dlerror());
  void* const symbol = dlsym(library, "polyte_codegen_functions");
  if (symbol == nullptr) refuse(dlerror());
  return *reinterpret_cast<decltype(polyte_codegen_functions)*>(symbol)();
}

const Functions& functions() {
  static const Functions& loaded = load();
  return loaded;
}

}  // namespace

Target detect_host() { return functions().detect_host(); }
Target target_for_cpu(const std::string& name, TargetKind kind) {
  return functions().target_for_cpu(name, kind);
}
std::vector<std::string> known_cpus(TargetKind kind) { return functions().known_cpus(kind); }

ObjectCode compile(std::span<const Kernel> kernels, const Target& target,
                   const CodegenOptions& options) {
  return functions().compile(kernels, target, options);
}

std::string emit_llvm_ir(std::span<const Kernel> kernels, const Target& target,
                         const CodegenOptions& options) {
  return functions().emit_llvm_ir(kernels, target, options);
}

std::string emit_asm(std::span<const Kernel> kernels, const Target& target,
                     const CodegenOptions& options) {
  return functions().emit_asm(kernels, target, options);
}

std::string link(std::span<const std::string> objects) { return functions().link(objects); }

DeviceBinary assemble_ptx(const std::string& ptx, const Machine& machine, Assembler which) {
  return functions().assemble_ptx(ptx, machine, which);
}
std::string assembler_path(Assembler which) { return functions().assembler_path(which); }
std::string disassemble(const DeviceBinary& binary) { return functions().disassemble(binary); }

}  // namespace polyte::codegen
