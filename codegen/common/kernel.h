// What is compiled: a kernel's loops with what is known of its buffers, and how hard LLVM is to try.
#pragma once

#include <string>
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

// A kernel of the device, one loop of blocks of a program.
struct LaunchInfo {
  std::string name;  // in the device's code
  std::int64_t threads = 0, shared_bytes = 0;
};

struct CodegenOptions {
  enum class Effort { Less, Default };  // LLVM's code generation level
  Effort effort = Effort::Default;
  bool emulated = false;  // the device's code is for this CPU, whose runtime plays its threads (runtime/emulator.h)
};

}  // namespace polyte::codegen
