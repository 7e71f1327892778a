// The processor that code is for, and what one must have to run it, in the words of an artifact's manifest.
#pragma once

#include "codegen/target.h"
#include "runtime/manifest.h"

namespace polyte::driver {

void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest);

}  // namespace polyte::driver
