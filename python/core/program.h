// Programs, scripts and compiling.
#pragma once

#include <nanobind/nanobind.h>

#include "driver/api/polyte.h"

namespace polyte::python {

// The same names as the options of Program.compile; those that are not there keep their defaults.
api::CompileOptions options_of(const nanobind::dict& given);

void bind_programs(nanobind::module_& module);

}  // namespace polyte::python
