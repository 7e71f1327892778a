// The extension module polyte._core: the C++ API (driver/api/polyte.h) with little of its own. What people call is in
// python/polyte, in Python.
#include <nanobind/nanobind.h>

#include "python/core/compare.h"
#include "python/core/kernel.h"
#include "python/core/network.h"
#include "python/core/program.h"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // objects that live until the process ends are no fault of a user's
  polyte::python::bind_programs(module);
  polyte::python::bind_kernels(module);
  polyte::python::bind_networks(module);
  polyte::python::bind_statistics(module);
}
