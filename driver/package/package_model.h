// A whole network to an artifact: the outermost list.
//
//   graph -> optimise -> fuse -> a Program per group -> a kernel per distinct Program -> objects
//         -> link -> plan, pack
//
// Equal kernels compile once: the identity of a kernel is its canonical Program text. Kernels are
// scheduled and compiled in parallel, each with its own isl and LLVM context; the result does not
// depend on the number of jobs.
#pragma once

#include "driver/compile/model.h"
#include "runtime/artifact.h"

namespace polyte::driver {

struct PackagedModel : CompiledModel {
  runtime::ArtifactParts parts;
};

PackagedModel package_model(Network network, const codegen::Target& target,
                            const ModelOptions& options);

}  // namespace polyte::driver
