#include "support/checked.h"

#include <string>

#include "support/error.h"

namespace polyte {
namespace {

[[noreturn]] void overflow(std::int64_t a, const char* op, std::int64_t b) {
  throw UserError(ExitStatus::ResourceLimit, "size overflow: " + std::to_string(a) + ' ' + op +
                                                 ' ' + std::to_string(b) + " exceeds 63 bits");
}

}  // namespace

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow(a, "+", b);
  return result;
}

std::int64_t checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) overflow(a, "-", b);
  return result;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow(a, "*", b);
  return result;
}

std::int64_t checked_product(std::span<const std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) result = checked_mul(result, factor);
  return result;
}

}  // namespace polyte
