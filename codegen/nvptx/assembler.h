// From PTX to the machine code of one GPU, and its text, by NVIDIA's ptxas and nvdisasm, programs
// of the CUDA Toolkit: asked for on PATH, then in $CUDA_HOME/bin and /usr/local/cuda/bin. Where
// there is no ptxas, by the library libnvJitLink (jit_link.h); `assembler` says which. No GPU
// is needed.
//
//   DeviceBinary binary = assemble_ptx(object.device, machine);
//   binary.kernels[0].registers
#pragma once

#include <string>
#include <vector>

#include "support/machine.h"

namespace polyte::codegen {

struct DeviceBinary {
  struct Kernel {
    std::string name;
    int registers = 0;  // of a thread
    int stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  };
  std::string bytes;  // an ELF file, "cubin"
  std::vector<Kernel> kernels;
  std::vector<std::string> messages;  // warnings, and what it could not keep as asked (C75xx)
  std::string assembler;              // "/usr/local/cuda/bin/ptxas"
};

// "sm_90a"
inline std::string architecture_of(const Gpu& gpu) {
  return "sm_" + std::to_string(gpu.compute_capability) + (gpu.specific ? "a" : "");
}

// First: ptxas, else the library.
enum class Assembler { First, Program, Library };
// UserError(Device) where there is none, InternalError with its words where it refuses our code.
DeviceBinary assemble_ptx(const std::string& ptx, const Machine& machine,
                          Assembler which = Assembler::First);
std::string assembler_path(Assembler which = Assembler::First);  // empty: there is none
inline bool has_assembler() { return !assembler_path().empty(); }

// The machine code as text, by nvdisasm or cuobjdump; UserError(Device) where there is neither,
// or where it fails.
std::string disassemble(const DeviceBinary& binary);

}  // namespace polyte::codegen
