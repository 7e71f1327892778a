// Result<T, E>: a value or the reason why there is none. Used where failure is an ordinary answer:
// a transform that does not apply (Decline), a primitive that is illegal (schedule::Refusal).
//
//   Result<Tree> split(...);      if (!r) report(r.error().reason);   use(*r)
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "support/error.h"

namespace polyte {

// Why a transform does not apply. A decline is reported, never swallowed.
struct Decline {
  std::string reason;
};

template <class T, class E = Decline>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }
  const E& error() const {
    POLYTE_CHECK(state_.index() == 1, "error() of a Result that holds a value");
    return std::get<1>(state_);
  }

 private:
  T& value() {
    POLYTE_CHECK(state_.index() == 0, "value of a Result that holds an error");
    return std::get<0>(state_);
  }
  std::variant<T, E> state_;
};

}  // namespace polyte
