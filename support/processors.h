// The processors that are known by name: what LLVM's name of one does not tell codegen, and
// what a script that was written for another one needs to know of it. The one place that has
// names of processors.
//
//   find_processor("neoverse-n1")->vector_bits                  // 128
//   named_machine(TargetKind::X86, "znver4", {"+avx512f", ..})  // what it can, the rest assumed
#pragma once

#include <string>
#include <vector>

#include "support/target.h"

namespace polyte {

struct Processor {
  const char* name;  // LLVM's
  TargetKind kind;
  int vector_bits;
  int vector_registers;
  // Where nobody has measured: what a core can count on.
  Cache l1 = {32 << 10, 8, 64};
  Cache l2 = {1 << 20, 8, 64};
  Cache l3 = {2 << 20, 16, 64};
  int fma_per_cycle = 2;
  int fma_latency = 4;
};

const Processor* find_processor(const std::string& name);  // null if absent
// One that is called otherwise than LLVM does: "znver4" of "zen4" and "genoa"; null if absent.
const Processor* processor_by_common_name(const std::string& name);

// A processor that this process does not run on, by its name and LLVM's features ("+avx2", sorted).
// Vectors are what the features say; the rest is the table's, or for a name that is not in it what
// processors of its kind have.
Machine named_machine(TargetKind kind, const std::string& name, std::vector<std::string> features);

}  // namespace polyte
