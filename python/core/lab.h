// Experiments (driver/lab) by the same code as the verbs' (driver/cli): Python processes
// are their workers.
#pragma once

#include <nanobind/nanobind.h>

namespace polyte::python {

void bind_lab(nanobind::module_& module);

}  // namespace polyte::python
