#include "support/processors.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace polyte {
namespace {

constexpr TargetKind kX86 = TargetKind::X86, kArm = TargetKind::AArch64;

// x86: caches and pipes are those of many, so that code for a name does not depend on which of
// its processors it is. Neoverse N1: Arm Neoverse N1 Core Technical Reference Manual (L1 of 64
// KiB in 4 ways, L2 of up to 1 MiB in 8 ways, lines of 64 bytes) and Software Optimization Guide
// (two vector pipes, FMLA of latency 4); the last cache belongs to the system, and 32 MiB for 64
// cores are a known one.
constexpr Processor kProcessors[] = {
    {"alderlake", kX86, 256, 16},
    {"broadwell", kX86, 256, 16},
    {"cascadelake", kX86, 512, 32},
    {"cooperlake", kX86, 512, 32},
    {"emeraldrapids", kX86, 512, 32},
    {"graniterapids", kX86, 512, 32},
    {"haswell", kX86, 256, 16},
    {"icelake-client", kX86, 512, 32},
    {"icelake-server", kX86, 512, 32},
    {"neoverse-n1", kArm, 128, 32, {64 << 10, 4, 64}, {1 << 20, 8, 64}, {512 << 10, 16, 64}, 2, 4},
    {"sapphirerapids", kX86, 512, 32},
    {"skylake", kX86, 256, 16},
    {"skylake-avx512", kX86, 512, 32},
    {"x86-64", kX86, 128, 16},
    {"x86-64-v2", kX86, 128, 16},
    {"x86-64-v3", kX86, 256, 16},
    {"x86-64-v4", kX86, 512, 32},
    {"znver1", kX86, 256, 16},
    {"znver2", kX86, 256, 16},
    {"znver3", kX86, 256, 16},
    {"znver4", kX86, 512, 32},
    {"znver5", kX86, 512, 32},
};

// NEON is what every processor of 64 bits has; wider vectors of some (SVE) are not used.
constexpr Processor kSomeX86 = {"", kX86, 128, 16}, kSomeArm = {"", kArm, 128, 32};

// Vectors are what the instructions say, whatever the name.
void read_x86_vectors(Machine& machine) {
  const bool avx512 = machine.has("avx512f");
  machine.vector_bits = avx512 ? 512 : machine.has("avx") ? 256 : 128;
  machine.vector_registers = avx512 ? 32 : 16;
  machine.has_fma = machine.has("fma") || avx512;
}

}  // namespace

const Processor* find_processor(const std::string& name) {
  const auto* const found =
      std::ranges::find(kProcessors, name, [](const Processor& p) { return p.name; });
  return found == std::end(kProcessors) ? nullptr : found;
}

// Of AMD's Zen, a number beyond the table's is taken for its last.
const Processor* processor_by_common_name(const std::string& name) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {{"rome", "znver2"},
                                                                 {"milan", "znver3"},
                                                                 {"genoa", "znver4"},
                                                                 {"turin", "znver5"},
                                                                 {"skylake-x", "skylake-avx512"},
                                                                 {"icelake", "icelake-server"},
                                                                 {"graviton2", "neoverse-n1"}};
  const auto* const found = std::ranges::find(kNames, name, [](const auto& n) { return n.first; });
  if (found != std::end(kNames)) return find_processor(found->second);
  if (!name.starts_with("zen")) return nullptr;
  const Processor* same = find_processor("znver" + name.substr(3));
  return same ? same : find_processor("znver5");
}

Machine named_machine(TargetKind kind, const std::string& name, std::vector<std::string> features) {
  const Processor* const known = find_processor(name);
  const Processor& processor = known && known->kind == kind ? *known
                               : kind == kX86               ? kSomeX86
                                                            : kSomeArm;
  Machine machine;
  machine.cpu = name;
  machine.model_name = name;
  machine.features = std::move(features);
  machine.vector_bits = processor.vector_bits;
  machine.vector_registers = processor.vector_registers;
  machine.fma_per_cycle = processor.fma_per_cycle;
  machine.fma_latency = processor.fma_latency;
  machine.has_fma = kind == kArm;
  if (kind == kX86) read_x86_vectors(machine);
  machine.l1 = processor.l1;
  machine.l2 = processor.l2;
  machine.l3 = processor.l3;
  machine.assumed = {"cores", "fma_latency", "fma_per_cycle", "l1", "l2", "l3"};
  return machine;
}

}  // namespace polyte
