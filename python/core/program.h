// Programs, scripts and compiling.
#pragma once

#include <nanobind/nanobind.h>

namespace polyte::python {

void bind_programs(nanobind::module_& module);

}  // namespace polyte::python
