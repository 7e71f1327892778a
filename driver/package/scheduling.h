// Who scheduled a kernel, as an artifact's manifest and the reports say it.
#pragma once

#include "driver/compile/build_kernel.h"
#include "runtime/manifest.h"

namespace polyte::driver {

runtime::StepScheduling scheduling_of(const BuiltKernel& kernel);

}  // namespace polyte::driver
