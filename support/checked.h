// Checked 64-bit arithmetic for sizes and indices, and floor division.
// Overflow of a size is the input's fault: it throws UserError(ResourceLimit).
#pragma once

#include <cstdint>
#include <span>

namespace polyte {

std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_sub(std::int64_t a, std::int64_t b);
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
std::int64_t checked_product(std::span<const std::int64_t> factors);  // 1 when empty

// Division that rounds towards minus infinity (towards plus infinity) and its remainder in [0, d),
// for every n. Expects d > 0.
constexpr std::int64_t floor_div(std::int64_t n, std::int64_t d) {
  return n >= 0 ? n / d : -1 - (-1 - n) / d;
}
constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return n > 0 ? (n - 1) / d + 1 : n / d;
}
constexpr std::int64_t floor_mod(std::int64_t n, std::int64_t d) {
  return n % d < 0 ? n % d + d : n % d;
}

}  // namespace polyte
