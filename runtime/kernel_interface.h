// Whether a step of a manifest fits the kernel that it calls. The kernel's object says what it was
// compiled for, as data (support/kernel_abi.h); the manifest says what it will be called with, and
// an artifact may be put together of parts that are each well-formed and do not belong together.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/manifest.h"

namespace polyte::runtime {

// `data` is what the symbol <kernel>.interface holds, null where there is none. UserError(Artifact)
// with all problems: number of buffers, what is written but read-only, element types of inputs and
// outputs, bytes, alignment, scratch, buffers that meet but may not.
void check_step(const ArtifactManifest& manifest, const StepSpec& step, const std::int64_t* data,
                const std::string& source);

}  // namespace polyte::runtime
