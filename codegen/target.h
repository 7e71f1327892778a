// Target: the processor to generate code for. Machine says what the schedulers see of it; its `cpu` and
// `features` are exactly what LLVM is told.
//
//   Target host = detect_host();                  // this processor, features masked as the kernel masks them
//   Target other = target_for_cpu("skylake");     // a named LLVM CPU; unknown: UserError with near names
#pragma once

#include <string>
#include <vector>

#include "support/machine.h"

namespace polyte::codegen {

struct Target {
  Machine machine;
};

// support's detect_machine() with LLVM's CPU name and its full signed feature list. The minus signs matter: a
// virtual machine may hide what the CPU's name implies.
Target detect_host();

// A CPU by LLVM's name; sizes of caches, cores and pipes that the name does not tell are assumed (and listed in
// `machine.assumed`).
Target target_for_cpu(const std::string& name);

// The CPU names that target_for_cpu knows, sorted.
std::vector<std::string> known_cpus();

}  // namespace polyte::codegen
