#include "support/gpu_machines.h"

#include <algorithm>

namespace polyte {
namespace {

struct NamedGpu {
  const char* name;
  const char* model;
  Gpu gpu;
};

// Threads, registers and shared memory: "CUDA C++ Programming Guide", table of technical
// specifications by compute capability. Multiprocessors, caches, memory and rates: NVIDIA's
// architecture white papers of A100 (SXM, 80 GB), H100 (SXM), Ada (AD102) and the data sheets of
// H200 and L4; the clock is the boost clock for which they state the rates.
constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr NamedGpu kGpus[] = {
    {"a100",
     "NVIDIA A100 SXM4 80GB",
     {80, false, 108, 2048, 65536, 255, 1024, 163 * kKiB, 164 * kKiB, 40 * kMiB, 1.41, 2039, 64,
      1024}},
    {"l4",
     "NVIDIA L4",
     {89, false, 58, 1536, 65536, 255, 1024, 99 * kKiB, 100 * kKiB, 48 * kMiB, 2.04, 300, 128,
      512}},
    {"rtx4090",
     "NVIDIA GeForce RTX 4090",
     {89, false, 128, 1536, 65536, 255, 1024, 99 * kKiB, 100 * kKiB, 72 * kMiB, 2.52, 1008, 128,
      256}},
    {"h100",
     "NVIDIA H100 SXM5 80GB",
     {90, true, 132, 2048, 65536, 255, 1024, 227 * kKiB, 228 * kKiB, 50 * kMiB, 1.83, 3352, 128,
      2048}},
    {"h200",
     "NVIDIA H200 SXM5",
     {90, true, 132, 2048, 65536, 255, 1024, 227 * kKiB, 228 * kKiB, 50 * kMiB, 1.83, 4800, 128,
      2048}},
};

Machine machine_of(const NamedGpu& known) {
  Machine machine = machine_of_gpu(known.gpu);
  machine.cpu = known.name;
  machine.model_name = known.model;
  return machine;
}

// The code of a class runs on all of it, so its schedules count on no more than the least of it.
std::optional<Machine> machine_of_class(const std::string& name) {
  std::optional<NamedGpu> least;
  for (const NamedGpu& known : kGpus)
    if (name == "sm_" + std::to_string(known.gpu.compute_capability))
      if (!least || known.gpu.multiprocessors < least->gpu.multiprocessors) least = known;
  if (!least) return std::nullopt;
  Machine machine = machine_of(*least);
  machine.assumed = {"multiprocessors", "l2_bytes", "clock_ghz", "memory_gb_a_second"};
  machine.model_name =
      "any GPU of compute capability " + std::to_string(least->gpu.compute_capability / 10) + "." +
      std::to_string(least->gpu.compute_capability % 10) + ", rates of " + least->model;
  machine.cpu = name;
  machine.gpu->specific = false;
  return machine;
}

}  // namespace

Machine machine_of_gpu(const Gpu& gpu) {
  Machine machine;
  machine.vector_bits = 128;
  // A thread's widest access has 128 bits: four registers of 32.
  machine.vector_registers = gpu.registers_a_thread / 4;
  machine.has_fma = true;
  machine.cores = gpu.multiprocessors;
  // The first-level cache and shared memory are one array of memory.
  machine.l1 = {gpu.shared_multiprocessor_bytes, 4, 128};
  machine.l2 = {gpu.l2_bytes, 16, 128};
  machine.gpu = gpu;
  return machine;
}

std::optional<Machine> gpu_machine(const std::string& name) {
  const auto* known =
      std::ranges::find_if(kGpus, [&](const NamedGpu& g) { return name == g.name; });
  return known == std::end(kGpus) ? machine_of_class(name) : machine_of(*known);
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const NamedGpu& known : kGpus) names.emplace_back(known.name);
  return names;
}

}  // namespace polyte
