// The interface of a kernel as data in its object (support/kernel_abi.h): how many buffers, which
// are read and written, their element types and sizes, and the scratch; buffers of a GPU lie at
// multiples of 16 bytes. From the loops themselves, so that it says what the code does.
//
//   @k0.interface = constant [14 x i64] [1, 2, 0, 0, 0, 0,  1, 1, 4, 4000,  2, 1, 4, 4000]
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/common/kernel.h"
#include "codegen/common/scratch.h"

namespace polyte::codegen {

std::vector<std::int64_t> interface_of(const Kernel& kernel, const ScratchLayout& scratch,
                                       bool on_gpu);

}  // namespace polyte::codegen
