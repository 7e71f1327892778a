// What the two halves of the API share: schedulers as the driver names them, and its targets.
#pragma once

#include "driver/api/polyte.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/model.h"

namespace polyte::api {

driver::Arm arm_of(Scheduler scheduler);
driver::ModelOptions driver_options(const ModelOptions& options);
Scheduling scheduling_of(const driver::BuiltKernel& kernel);

}  // namespace polyte::api
