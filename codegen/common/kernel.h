// What is compiled: a kernel's loops with what is known of its buffers, and how hard LLVM is to try.
#pragma once

#include <utility>
#include <vector>

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

}  // namespace polyte::codegen
