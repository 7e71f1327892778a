// The GPU of an experiment whose target is one: cuda:native, or the name of what
// is there, cuda:h100.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>

#include "codegen/target.h"
#include "driver/lab/device_clock.h"
#include "driver/lab/plan.h"

namespace polyte::lab {

// What a plan's target means here. UserError(Usage) for what is none; UserError(Device) with the
// next step for a GPU where there is no driver, or no GPU of its compute capability.
codegen::Target target_of(const Plan& plan);

// Null where the target is a processor.
std::shared_ptr<DeviceClock> open_device(const codegen::Target& target);

// For a context: {"name", "compute_capability", "multiprocessors", "memory_bytes", "l2_bytes",
// "cuda", and as far as they can be read "driver", "clock_mhz", "memory_clock_mhz",
// "most_clock_mhz"}.
nlohmann::ordered_json describe_device(const runtime::CudaDevice& device);

}  // namespace polyte::lab
