// NVIDIA's assembler as a library, libnvJitLink of CUDA 12 or 13, for machines that have the
// libraries of CUDA and no programs, as pip installs them. Opened when it is first asked for, never
// linked: asked for by its name, then in $CUDA_HOME and /usr/local/cuda. It compiles for linking,
// so it ignores setmaxnreg, which ptxas keeps. Internal.
#pragma once

#include <string>

#include "codegen/nvptx/assembler.h"

namespace polyte::codegen {

std::string jit_link_path();  // empty: there is none
// InternalError with its words where it refuses our code. There is one.
DeviceBinary assemble_by_jit_link(const std::string& ptx, const Machine& machine);

}  // namespace polyte::codegen
