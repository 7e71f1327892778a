// What the two halves of the API share: schedulers and targets as the driver names them.
#pragma once

#include "codegen/target.h"
#include "driver/api/polyte.h"
#include "driver/compile/model.h"

namespace polyte::api {

driver::Arm arm_of(Scheduler scheduler);
driver::ModelOptions driver_options(const ModelOptions& options);
Scheduling scheduling_of(const driver::BuiltKernel& kernel);
codegen::Target target_named(const std::string& name);  // "native" or an LLVM CPU name

}  // namespace polyte::api
