// The functions of this folder as a table. The program that links LLVM pays for it at every
// start: 45 MB of memory and most of the time of `--version`. The command line therefore does
// not. It links on_demand.cc, which defines the functions of target.h, codegen.h, cpu/link.h and
// nvptx/assembler.h once more: the first call loads libpolyte_codegen.so, which holds this folder
// and LLVM, and takes the table from there.
//
//   polyte -> driver -> on_demand.cc  - dlopen at the first call ->  libpolyte_codegen.so -> LLVM
//
// The two sides have copies of `ir` and `support` of their own, so neither may keep state that can
// be changed, and the table may only be asked from a program of the same build. Internal.
#pragma once

#include "codegen/codegen.h"
#include "codegen/cpu/link.h"
#include "codegen/nvptx/assembler.h"
#include "codegen/target.h"

namespace polyte::codegen {

struct Functions {
  decltype(codegen::detect_host)* detect_host;
  decltype(codegen::target_for_cpu)* target_for_cpu;
  decltype(codegen::known_cpus)* known_cpus;
  decltype(codegen::compile)* compile;
  decltype(codegen::emit_llvm_ir)* emit_llvm_ir;
  decltype(codegen::emit_asm)* emit_asm;
  decltype(codegen::link)* link;
  decltype(codegen::assemble_ptx)* assemble_ptx;
  decltype(codegen::assembler_path)* assembler_path;
  decltype(codegen::disassemble)* disassemble;
};

}  // namespace polyte::codegen

extern "C" const polyte::codegen::Functions* polyte_codegen_functions();
