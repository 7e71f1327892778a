// The GPUs that are known by name. Scheduling and compiling for one needs no GPU: every number that
// they ask for is here.
//
//   gpu_machine("h100")->gpu->multiprocessors    // 132
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/machine.h"

namespace polyte {

// A GPU of the table, "h100", or the smallest of a compute capability, "sm_90", of which the rest
// is listed as assumed. Vectors are accesses of 16 bytes, the widest that a thread makes. nullopt
// where there is none of this name.
std::optional<Machine> gpu_machine(const std::string& name);

// What the schedulers see of a GPU of which this is known; it has no name yet.
Machine machine_of_gpu(const Gpu& gpu);

// The names, in the order of the table.
std::vector<std::string> gpu_names();

}  // namespace polyte
