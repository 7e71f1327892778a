// What the schedulers know of a GPU that is there: sizes and clocks as its driver says them, rates
// of its units as those of the same model in the table (support/gpu_machines.h), or of the same
// compute capability, and then listed as assumed.
#pragma once

#include "runtime/cuda_device.h"
#include "support/machine.h"

namespace polyte::runtime {

// UserError(Unsupported) for a GPU older than all of the table.
Machine machine_of(const CudaDevice& device);

}  // namespace polyte::runtime
