// What is compiled: a kernel's loops with what is known of its buffers, and how hard LLVM
// is to try.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::codegen {

struct Kernel {
  // Flat form; parameters are read at run time, from the buffer behind the last one.
  ir::LoopProgram program;
  // Per interface buffer: its address is a multiple of 64. Empty: none is known to be, but on a
  // GPU all are of 16.
  std::vector<bool> aligned;
  // Interface buffers (result, operand) that may be one and the same memory; all others
  // never overlap.
  std::vector<std::pair<std::size_t, std::size_t>> in_place = {};
  ir::Ranges ranges = {};  // of the parameters, as far as they are known
};

// Bytes: of what kernels of a GPU are given, for vectors of a thread.
inline constexpr int kDeviceAlignment = 16;

// Of interface buffer `i`, in bytes: what the code relies on, and the kernel's interface data
// asks for.
inline int known_alignment_of(const Kernel& kernel, std::size_t i, bool on_gpu) {
  const int element = size_in_bytes(kernel.program.buffers.at(i).dtype);
  if (kernel.aligned.empty()) return on_gpu ? kDeviceAlignment : element;
  return kernel.aligned.at(i) ? 64 : element;
}

// A kernel of the device, one loop of blocks of a program.
struct LaunchInfo {
  std::string name;  // in the device's code
  std::int64_t threads = 0, shared_bytes = 0;
};

struct CodegenOptions {
  enum class Effort { Less, Default };  // LLVM's code generation level
  Effort effort = Effort::Default;
  // The device's code is for this CPU, whose runtime emulates its threads (runtime/emulator.h).
  bool emulated = false;
};

}  // namespace polyte::codegen
