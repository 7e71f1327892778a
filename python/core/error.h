// What the compiler says has failed, as exceptions of polyte.errors.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "driver/api/guard.h"

namespace polyte::python {

// One problem of a caller's; becomes an exception of polyte.errors, alone or among others.
class ProblemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// As a dict: what errors.Refused has as `refusal`.
nanobind::object to_python(const api::Refusal& refusal);

// Sets Python's error and throws; the GIL is held.
[[noreturn]] void raise(const api::Failure& failure);
[[noreturn]] void raise(ExitStatus status, std::vector<std::string> problems);

// The value, or an exception. Takes an Outcome that was made without the GIL.
template <class T>
T value_of(api::Outcome<T> outcome) {
  if (!outcome) raise(outcome.error());
  return std::move(*outcome);
}

// Runs without the GIL.
template <class F>
auto without_gil(F f) {
  const nanobind::gil_scoped_release release;
  return f();
}

// Errors of the runtime's own functions, as those of the API; without the GIL.
template <class F>
auto guarded_value(F f) {
  return value_of(without_gil([&] { return api::guarded(f); }));
}

}  // namespace polyte::python
