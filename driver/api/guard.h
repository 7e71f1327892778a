// Where exceptions end: what a function of the API does, turned into an Outcome.
#pragma once

#include <exception>

#include "driver/api/polyte.h"

namespace polyte::api {

Failure to_failure(std::exception_ptr error) noexcept;

template <class F>
auto guarded(F f) noexcept -> Outcome<decltype(f())> {
  try {
    return f();
  } catch (...) {
    return to_failure(std::current_exception());
  }
}

}  // namespace polyte::api
