#include "python/core/compare.h"

#include <nanobind/stl/vector.h>

#include "driver/lab/statistics.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

nb::tuple to_python(const lab::Interval& interval) {
  return nb::make_tuple(interval.estimate, interval.low, interval.high);
}

}  // namespace

void bind_statistics(nb::module_& module) {
  module.def("median_interval",
             [](const lab::Samples& samples) { return to_python(lab::median_interval(samples)); });
  module.def("paired_ratio", [](const lab::Samples& a, const lab::Samples& b) {
    return to_python(lab::paired_ratio(a, b));
  });
}

}  // namespace polyte::python
