// Short floats on all 2^16 patterns, and one rounding from double: checked against
// the two neighbours.
#include "support/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using namespace polyte;

struct Format {
  float (*widen)(std::uint16_t);
  std::uint16_t (*from_float)(float);
  std::uint16_t (*from_double)(double);
  int exponent_bits;
  int fraction_bits;
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  }
};

constexpr Format kHalf{half_to_float, float_to_half, double_to_half, 5, 10};
constexpr Format kBFloat16{bfloat16_to_float, float_to_bfloat16, double_to_bfloat16, 8, 7};

// The value of a pattern by the definition of the format.
double by_definition(const Format& format, std::uint16_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int field = (bits & 0x7fff) >> format.fraction_bits;
  const double fraction =
      std::ldexp(bits & ((1 << format.fraction_bits) - 1), -format.fraction_bits);
  const double magnitude =
      field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

void check_every_pattern(const Format& format) {
  int wrong = 0;
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = format.widen(bits);
    const std::uint16_t magnitude = bits & 0x7fff;
    if (magnitude > format.infinity()) {
      const auto quiet = static_cast<std::uint16_t>(bits | (1 << (format.fraction_bits - 1)));
      if (!std::isnan(value) || format.from_float(value) != quiet) ++wrong;
    } else if (magnitude == format.infinity()) {
      if (!std::isinf(value) || std::signbit(value) != (bits >> 15 != 0) ||
          format.from_float(value) != bits)
        ++wrong;
    } else if (static_cast<double>(value) != by_definition(format, bits) ||
               format.from_float(value) != bits || format.from_double(value) != bits) {
      ++wrong;
    }
  }
  CHECK(wrong == 0);
}

// Between each pair of neighbours: the midpoint goes to the even one, a hair beside it to the
// nearer one.
void check_every_midpoint(const Format& format) {
  int wrong = 0;
  for (std::uint16_t low = 0; low + 1 < format.infinity(); ++low) {
    const double a = by_definition(format, low);
    const double b = by_definition(format, static_cast<std::uint16_t>(low + 1));
    const double middle = (a + b) / 2;
    const auto even = static_cast<std::uint16_t>(low + (low & 1));
    if (format.from_double(middle) != even || format.from_double(-middle) != (even | 0x8000))
      ++wrong;
    if (format.from_double(std::nextafter(middle, 0)) != low) ++wrong;
    if (format.from_double(std::nextafter(middle, b)) != low + 1) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("half: every pattern, every midpoint") {
  check_every_pattern(kHalf);
  check_every_midpoint(kHalf);
}

TEST_CASE("bfloat16: every pattern, every midpoint") {
  check_every_pattern(kBFloat16);
  check_every_midpoint(kBFloat16);
}

TEST_CASE("double to a short float rounds once") {
  // 1 + 2^-11 + 2^-40: above the midpoint, but a float in between would lie on it.
  CHECK(double_to_half(1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)) == 0x3c01);
  CHECK(float_to_half(static_cast<float>(1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40))) ==
        0x3c00);
  CHECK(double_to_bfloat16(1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)) == 0x3f81);
}

TEST_CASE("ends of the range") {
  CHECK(double_to_half(65519.99) == 0x7bff);
  CHECK(double_to_half(65520) == 0x7c00);
  CHECK(double_to_half(1e300) == 0x7c00);
  CHECK(double_to_half(-1e300) == 0xfc00);
  CHECK(double_to_half(1e-300) == 0);
  CHECK(double_to_half(-5e-324) == 0x8000);
  CHECK(double_to_half(std::ldexp(1.0, -25)) == 0);
  CHECK(double_to_half(std::nextafter(std::ldexp(1.0, -25), 1)) == 1);
  CHECK(float_to_bfloat16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(std::isnan(half_to_float(double_to_half(std::numeric_limits<double>::quiet_NaN()))));
}

TEST_CASE("float to bfloat16 agrees with the rounding by integers") {
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    const auto expected = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    REQUIRE(float_to_bfloat16(value) == expected);
  }
}

TEST_CASE("names, sizes and classes") {
  int floats = 0;
  int integers = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    CHECK(dtype_from_string(to_string(type)) == type);
    floats += is_float(type) ? 1 : 0;
    integers += is_integer(type) ? 1 : 0;
  }
  CHECK(floats == 4);
  CHECK(integers == 8);
  CHECK(size_in_bytes(DType::BF16) == 2);
  CHECK(size_in_bytes(DType::Bool) == 1);
  CHECK_FALSE(is_unsigned_integer(DType::Bool));
  CHECK_FALSE(dtype_from_string("float32").has_value());
}

}  // namespace
