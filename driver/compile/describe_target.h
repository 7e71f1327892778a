// Targets in words: as a user names one, and as an artifact's manifest says which processor its code is for and what
// one must have to run it.
//
//   native, cpu:native        this processor
//   cpu:skylake, skylake      one of this processor's kind, by LLVM's name
//   aarch64:neoverse-n1       one of that kind, x86_64 or aarch64
//   cuda:h100, cuda:sm_90     a GPU of the table (support/gpu_machines.h), or any of a compute capability
#pragma once

#include <string>

#include "codegen/target.h"
#include "runtime/manifest.h"

namespace polyte::driver {

// UserError(Usage) for what is no target.
codegen::Target target_named(const std::string& text);

void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest);

// UserError(Unsupported), where the target is a GPU, that `what` is not done for one.
void refuse_gpu(const codegen::Target& target, const std::string& what);

}  // namespace polyte::driver
