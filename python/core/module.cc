// The extension module polyte._polyte: the C++ API (driver/api/polyte.h) with little of its own.
// What people call is in python/polyte, in Python.
#include <nanobind/nanobind.h>

#include "python/core/check.h"
#include "python/core/compare.h"
#include "python/core/device_array.h"
#include "python/core/kernel.h"
#include "python/core/lab.h"
#include "python/core/network.h"
#include "python/core/program.h"

NB_MODULE(_polyte, module) {
  // Objects that live until the process ends are no fault of a user's.
  nanobind::set_leak_warnings(false);
  polyte::python::bind_programs(module);
  polyte::python::bind_checks(module);
  polyte::python::bind_device_arrays(module);
  polyte::python::bind_kernels(module);
  polyte::python::bind_networks(module);
  polyte::python::bind_statistics(module);
  polyte::python::bind_lab(module);
}
