// ONNX models and artifacts.
#pragma once

#include <nanobind/nanobind.h>

namespace polyte::python {

void bind_networks(nanobind::module_& module);

}  // namespace polyte::python
