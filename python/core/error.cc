#include "python/core/error.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace polyte::python {

// As dicts and tuples, from which polyte.errors makes its classes: they are written in Python.
nb::object to_python(const api::Refusal& refusal) {
  nb::list counterexamples, details;
  for (const api::Refusal::Counterexample& c : refusal.counterexamples) {
    nb::dict one, sizes;
    for (const auto& [name, size] : c.sizes) sizes[name.c_str()] = size;
    one["dependence"] = c.dependence;
    one["reference"] = c.reference;
    one["scheduled"] = c.scheduled;
    one["watch"] = c.watch;
    one["sizes"] = sizes;
    counterexamples.append(one);
  }
  for (const auto& [label, text] : refusal.details) details.append(nb::make_tuple(label, text));
  nb::dict result;
  result["kind"] = refusal.kind;
  result["headline"] = refusal.headline;
  result["directive"] = refusal.directive;
  result["line"] = refusal.line;
  result["advice"] = refusal.advice;
  result["details"] = details;
  result["counterexamples"] = counterexamples;
  return result;
}

// Python makes the exception, which class by the status; then it is set as any that C code
// raises.
void raise(const api::Failure& failure) {
  const nb::object made =
      nb::module_::import_("polyte.errors")
          .attr("made")(static_cast<int>(failure.status), failure.messages,
                        failure.refusal ? to_python(*failure.refusal) : nb::none());
  PyErr_SetObject(made.type().ptr(), made.ptr());
  throw nb::python_error();
}

void raise(ExitStatus status, std::vector<std::string> problems) {
  raise(api::Failure{status, std::move(problems)});
}

}  // namespace polyte::python
