// Machine: what the schedulers and the code generator know of the processor: instruction set,
// vector registers, caches, cores. Detected on the host (cpuid through the kernel's files),
// or assumed for a named LLVM CPU; `assumed` lists which facts were not measured. Every tile
// size comes from here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace polyte {

struct Cache {
  std::int64_t bytes = 0;
  int ways = 8;
  int line_bytes = 64;
};

// What is known of a GPU. Rates are peaks as its maker states them, unless a file of measured
// ones says otherwise.
struct Gpu {
  int compute_capability = 0;  // 90: code for sm_90
  bool specific = false;       // also what this generation alone can do, sm_90a
  int multiprocessors = 0;
  int threads_a_multiprocessor = 0;
  int registers_a_multiprocessor = 65536;  // of 32 bits
  int registers_a_thread = 255;
  int threads_a_block = 1024;
  std::int64_t shared_block_bytes = 0;           // of one block, at the most
  std::int64_t shared_multiprocessor_bytes = 0;  // of all blocks that run there at once
  std::int64_t l2_bytes = 0;
  double clock_ghz = 0;
  double memory_gb_a_second = 0;    // 10^9 bytes
  int f32_fma_a_cycle = 0;          // a multiprocessor's
  int bf16_tensor_fma_a_cycle = 0;  // the same on its tensor cores, sums in f32
};

struct Machine {
  std::string cpu;  // LLVM CPU name, "znver5"
  // LLVM feature strings with sign: "+avx512f", "-amx-tile"; sorted.
  std::vector<std::string> features;
  std::string model_name;     // as the kernel prints it, "AMD EPYC"
  int vector_bits = 128;      // widest vector that pays
  int vector_registers = 16;  // architectural vector registers (32 with AVX-512)
  int fma_per_cycle = 2;      // vector FMAs issued per cycle
  int fma_latency = 4;        // cycles
  bool has_fma = false;
  // Processors of the machine; schedules share loops among so many threads.
  int cores = 1;
  Cache l1, l2, l3;                  // data caches; l3 is the share that one core can count on
  std::optional<Gpu> gpu;            // of a GPU; vectors are then the widest access of a thread
  std::vector<std::string> assumed;  // facts not read from the machine, "fma_per_cycle"

  int lanes(DType type) const { return vector_bits / (8 * size_in_bytes(type)); }
  bool has(const std::string& feature) const;  // has("avx512f")
};

// The processor this process runs on. The LLVM CPU name and feature list are filled by
// codegen::detect_host(), which asks LLVM; this function reads cpuid and the kernel's cache files.
Machine detect_machine();

}  // namespace polyte
