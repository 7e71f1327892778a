// Constants in the layouts that a schedule gives them: packed once, before the first run.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "runtime/tensor.h"

namespace polyte::driver {

// Fills the packed buffers, in their order and zeroed by the caller, from the Program's constants
// by name.
void pack_constants(const BuiltKernel& kernel,
                    const std::map<std::string, std::span<const std::byte>>& constants,
                    std::span<const std::span<std::byte>> packed);

// The same from an operator's tensors, one per interface buffer; the packed buffers are new.
std::vector<runtime::Tensor> pack_constants(const BuiltKernel& kernel,
                                            std::span<runtime::Tensor> tensors);

}  // namespace polyte::driver
