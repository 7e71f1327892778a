// What isl throws, in our words: a spent quota, memory that is not there (std::bad_alloc), or
// a fault, an internal error. Inside the C library either becomes a null object, and isl's C++
// interface calls the next use of it an invalid argument ("NULL input"): what happened first is the
// last error of the context.
#pragma once

#include <new>
#include <string>

#include "schedule/proof/isl_bridge.h"
#include "support/error.h"

namespace polyte::schedule {

inline bool is_quota(const IslContext& context, const isl::exception& e) {
  return dynamic_cast<const isl::exception_quota*>(&e) != nullptr ||
         isl_ctx_last_error(context.get().get()) == isl_error_quota;
}

[[noreturn]] inline void throw_isl_fault(const IslContext& context, const isl::exception& e,
                                         const std::string& who) {
  const bool no_memory = dynamic_cast<const isl::exception_alloc*>(&e) != nullptr;
  if (no_memory || isl_ctx_last_error(context.get().get()) == isl_error_alloc)
    throw std::bad_alloc();
  const char* first = isl_ctx_last_error_msg(context.get().get());
  throw InternalError(who + ": " + e.what() + (first ? ", after: " + std::string(first) : ""));
}

// The result of `work`, which uses isl without a quota.
template <class Work>
auto translated(const IslContext& context, const std::string& who, Work work) {
  try {
    return work();
  } catch (const isl::exception& e) {
    throw_isl_fault(context, e, who);
  }
}

}  // namespace polyte::schedule
