// What the verbs `polyte check` and `polyte deps` say, as texts and JSON that the package reads.
#pragma once

#include <nanobind/nanobind.h>

namespace polyte::python {

void bind_checks(nanobind::module_& module);

}  // namespace polyte::python
