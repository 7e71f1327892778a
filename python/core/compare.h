// What samples of times say (driver/lab/statistics.h).
#pragma once

#include <nanobind/nanobind.h>

namespace polyte::python {

void bind_statistics(nanobind::module_& module);

}  // namespace polyte::python
