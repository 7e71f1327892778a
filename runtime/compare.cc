#include "runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace polyte::runtime {
namespace {

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

Shape index_of(std::int64_t number, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; number /= shape[i]) index[i] = number % shape[i];
  return index;
}

bool same_layout(const Tensor& got, const Tensor& expected, Comparison& result) {
  // Checked before any element, which are read by the type of `got` on both sides.
  if (got.dtype() == expected.dtype() && got.shape() == expected.shape()) return true;
  const auto describe = [](const Tensor& t) {
    return std::string(to_string(t.dtype())) + to_string(t.shape());
  };
  result.equal = false;
  result.message = "got " + describe(got) + ", expected " + describe(expected);
  return false;
}

void note_mismatch(Comparison& result, std::int64_t number, const Tensor& got,
                   const Tensor& expected) {
  result.equal = false;
  // The first one is described; the others are only counted.
  if (result.mismatches++ > 0) return;
  result.first = index_of(number, got.shape());
  result.message = "first at " + to_string(result.first) + ": got " +
                   element_text(got.dtype(), got.data(), number) + ", expected " +
                   element_text(got.dtype(), expected.data(), number);
}

void finish(Comparison& result, const Tensor& got) {
  if (result.mismatches == 0) return;
  result.message = std::to_string(result.mismatches) + " of " + std::to_string(got.elements()) +
                   " elements differ, " + result.message + "; largest error " +
                   short_text(result.max_absolute_error) + " absolute, " +
                   short_text(result.max_relative_error) + " relative";
}

// |a - b|; exact for 64-bit integers up to the rounding of the result.
double distance(DType dtype, const Tensor& got, const Tensor& expected, std::int64_t i, double a,
                double b) {
  const auto index = static_cast<std::size_t>(i);
  if (dtype == DType::I64) {
    // As doubles, integers beyond 2^53 that differ by little would be equal. Unsigned
    // subtraction is exact even where the signed difference would overflow.
    const std::int64_t x = got.as<std::int64_t>()[index];
    const std::int64_t y = expected.as<std::int64_t>()[index];
    const auto high = static_cast<std::uint64_t>(std::max(x, y));
    return static_cast<double>(high - static_cast<std::uint64_t>(std::min(x, y)));
  }
  if (dtype == DType::U64) {
    const std::uint64_t x = got.as<std::uint64_t>()[index];
    const std::uint64_t y = expected.as<std::uint64_t>()[index];
    return static_cast<double>(std::max(x, y) - std::min(x, y));
  }
  return std::abs(a - b);
}

// The value with its sign decides the bits of all that is no NaN.
bool is_other_zero(double a, double b) {
  return a == 0 && b == 0 && std::signbit(a) != std::signbit(b);
}

}  // namespace

Comparison compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance) {
  Comparison result;
  if (!same_layout(got, expected, result)) return result;
  const bool by_bits = tolerance.rtol == 0 && tolerance.atol == 0;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double a = element_as_double(got.dtype(), got.data(), i);
    const double b = element_as_double(got.dtype(), expected.data(), i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b) note_mismatch(result, i, got, expected);
      continue;
    }
    const double error = distance(got.dtype(), got, expected, i, a, b);
    result.max_absolute_error = std::max(result.max_absolute_error, error);
    if (b != 0)
      result.max_relative_error = std::max(result.max_relative_error, error / std::abs(b));
    const bool is_within = error <= tolerance.atol + tolerance.rtol * std::abs(b);
    if (!is_within || (by_bits && is_other_zero(a, b))) note_mismatch(result, i, got, expected);
  }
  finish(result, got);
  return result;
}

Comparison compare_bits(const Tensor& got, const Tensor& expected) {
  Comparison result;
  if (!same_layout(got, expected, result)) return result;
  const auto bytes = static_cast<std::size_t>(size_in_bytes(got.dtype()));
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * bytes;
    if (std::memcmp(got.raw().data() + at, expected.raw().data() + at, bytes) == 0) continue;
    const double a = element_as_double(got.dtype(), got.data(), i);
    const double b = element_as_double(got.dtype(), expected.data(), i);
    if (std::isfinite(a) && std::isfinite(b)) {
      const double error = distance(got.dtype(), got, expected, i, a, b);
      result.max_absolute_error = std::max(result.max_absolute_error, error);
      if (b != 0)
        result.max_relative_error = std::max(result.max_relative_error, error / std::abs(b));
    }
    note_mismatch(result, i, got, expected);
  }
  finish(result, got);
  return result;
}

}  // namespace polyte::runtime
