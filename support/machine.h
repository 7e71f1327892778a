// Machine: what the schedulers and the code generator know of the processor: instruction set, vector
// registers, caches, cores. Detected on the host (cpuid through the kernel's files), or assumed for a named
// LLVM CPU; `assumed` lists which facts were not measured. Every tile size comes from here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace polyte {

struct Cache {
  std::int64_t bytes = 0;
  int ways = 8;
  int line_bytes = 64;
};

struct Machine {
  std::string cpu;                    // LLVM CPU name, "znver5"
  std::vector<std::string> features;  // LLVM feature strings with sign: "+avx512f", "-amx-tile"; sorted
  std::string model_name;             // as the kernel prints it, "AMD EPYC"
  int vector_bits = 128;              // widest vector that pays
  int vector_registers = 16;          // architectural vector registers (32 with AVX-512)
  int fma_per_cycle = 2;              // vector FMAs issued a cycle
  int fma_latency = 4;                // cycles
  bool has_fma = false;
  int cores = 1;                     // processors of the machine; schedules share loops among so many threads
  Cache l1, l2, l3;                  // data caches; l3 is the share that one core can count on
  std::vector<std::string> assumed;  // facts not read from the machine, "fma_per_cycle"

  int lanes(DType type) const { return vector_bits / (8 * size_in_bytes(type)); }
  bool has(const std::string& feature) const;  // has("avx512f")
};

// The processor this process runs on. The LLVM CPU name and feature list are filled by
// codegen::detect_host(), which asks LLVM; this function reads cpuid and the kernel's cache files.
Machine detect_machine();

}  // namespace polyte
