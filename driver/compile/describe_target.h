// Targets in words: as a user names one, and as an artifact's manifest says which processor its
// code is for and what one must have to run it.
//
//   native, cpu:native        this processor
//   cpu:skylake, skylake      one of this processor's kind, by LLVM's name
//   aarch64:neoverse-n1       one of that kind, x86_64 or aarch64
//   cuda:h100, cuda:sm_90     a GPU of the table (support/gpu_machines.h), or any of
//                             a compute capability
//   cuda:native, cuda:F.json  the GPU that is here, or what a file says of one (machine_file.h)
#pragma once

#include <string>
#include <vector>

#include "codegen/target.h"
#include "runtime/cuda_options.h"
#include "runtime/manifest.h"

namespace polyte::driver {

// UserError(Usage) for what is no target. `cuda`: the GPU that cuda:native means, and the driver
// that is asked.
codegen::Target target_named(const std::string& text, const runtime::CudaOptions& cuda = {});

// What a processor must have to run code made for this one: "+avx2".
std::vector<std::string> needed_features(const codegen::Target& target);
void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest);

}  // namespace polyte::driver
