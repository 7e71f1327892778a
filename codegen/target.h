// The processors that code is generated for, by name. Machine says what the schedulers see of one;
// its `cpu` and `features` are exactly what is passed to LLVM.
//
//   Target host = detect_host();                // features masked as the kernel masks them
//   Target other = target_for_cpu("skylake");   // unknown: UserError with near names
//   Target arm = target_for_cpu("neoverse-n1", TargetKind::AArch64);
#pragma once

#include <string>
#include <vector>

#include "support/target.h"

namespace polyte::codegen {

using polyte::Target;
using polyte::TargetKind;

// support's detect_machine() with LLVM's CPU name and its full signed feature list. The minus signs
// matter: a virtual machine may hide what the CPU's name implies.
Target detect_host();

// A CPU by LLVM's name; sizes of caches, cores and pipes that the name does not tell are those of
// support/processors.h (and listed in `machine.assumed`).
Target target_for_cpu(const std::string& name, TargetKind kind = kNativeKind);

// The CPU names that target_for_cpu knows, sorted.
std::vector<std::string> known_cpus(TargetKind kind = kNativeKind);

}  // namespace polyte::codegen
