// What libpolyte_codegen.so exports.
#include "codegen/functions.h"

extern "C" const polyte::codegen::Functions* polyte_codegen_functions() {
  namespace codegen = polyte::codegen;
  static constexpr codegen::Functions kFunctions = {
      codegen::detect_host,    codegen::target_for_cpu, codegen::known_cpus, codegen::compile,
      codegen::emit_llvm_ir,   codegen::emit_asm,       codegen::link,       codegen::assemble_ptx,
      codegen::assembler_path, codegen::disassemble,
  };
  return &kFunctions;
}
