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

// Division that rounds towards minus infinity and its remainder in [0, d). Expects d > 0.
constexpr std::int64_t floor_div(std::int64_t n, std::int64_t d) { return n >= 0 ? n / d : -((-n + d - 1) / d); }
constexpr std::int64_t floor_mod(std::int64_t n, std::int64_t d) { return n - floor_div(n, d) * d; }
constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) { return -floor_div(-n, d); }

}  // namespace polyte
