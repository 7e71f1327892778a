// What the parts of the API share: schedulers as the driver names them, and its targets.
#pragma once

#include "driver/api/polyte.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/model.h"
#include "runtime/cuda_options.h"

namespace polyte::api {

driver::Arm arm_of(Scheduler scheduler);
driver::ModelOptions driver_options(const ModelOptions& options);
Scheduling scheduling_of(const driver::BuiltKernel& kernel);
inline runtime::CudaOptions cuda_options(const GpuChoice& gpu) { return {gpu.driver, gpu.device}; }

}  // namespace polyte::api
