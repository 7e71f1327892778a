// What bench/gpu/run fills and compares tensors with: the runtime's own data, so that the
// same words give the same values on every machine, without any library of Python's. Plain
// C: see bench/gpu/kit/data.py.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/fill.h"

using namespace polyte;
using namespace polyte::runtime;

namespace {

// Of longer tensors the values repeat; a prime, so that no row is another one.
constexpr std::int64_t kPeriod = 1048583;

void repeat(Tensor& tensor) {
  const auto period = static_cast<std::size_t>(kPeriod * size_in_bytes(tensor.dtype()));
  const std::span<std::byte> bytes = tensor.raw();
  for (std::size_t at = period; at < bytes.size(); at += period)
    std::memcpy(bytes.data() + at, bytes.data(), std::min(period, bytes.size() - at));
}

template <class F>
int filled(const polyte_dl_tensor* tensor, F&& fill_first) noexcept {
  try {
    const TensorView view = from_dlpack(*tensor);
    Tensor whole = Tensor::borrow(view.dtype, {view.shape.begin(), view.shape.end()}, view.data);
    Tensor first = Tensor::borrow(view.dtype, {std::min(whole.elements(), kPeriod)}, view.data);
    fill_first(first);
    repeat(whole);
    return 0;
  } catch (const UserError& error) {
    return static_cast<int>(error.status());
  } catch (...) {
    return static_cast<int>(ExitStatus::Internal);
  }
}

}  // namespace

extern "C" {

struct polyte_data_comparison {
  std::int64_t elements, other_bits;  // how many, and how many of them are not the same bits
  std::int64_t first;                 // the first of the largest difference
  // Infinite where one is no number or no finite one; of |expected|.
  double difference, largest;
  double got, expected;  // at `first`
  // Every expected value is a whole number that its type has exactly, with its neighbours.
  int is_whole;
};

// As --fill: "normal:1", "int:1". The status that an error has on the command line, else 0.
int polyte_data_fill(const polyte_dl_tensor* tensor, const char* text, const char* name) {
  return filled(tensor, [&](Tensor& first) { fill(first, parse_fill(text), name); });
}

// Whole numbers from 0 on, smaller than `below`: subscripts.
int polyte_data_fill_below(const polyte_dl_tensor* tensor, std::int64_t below, std::uint64_t seed) {
  return filled(tensor, [&](Tensor& first) {
    std::mt19937_64 random(seed);
    for (std::int64_t i = 0; i < first.elements(); ++i)
      set_element_int(first.dtype(), first.data(), i,
                      static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below)));
  });
}

int polyte_data_compare(const polyte_dl_tensor* got, const polyte_dl_tensor* expected,
                        polyte_data_comparison* result) noexcept {
  try {
    const TensorView a = from_dlpack(*got), b = from_dlpack(*expected);
    if (a.dtype != b.dtype || !std::ranges::equal(a.shape, b.shape))
      return static_cast<int>(ExitStatus::InvalidInput);
    const auto bytes = static_cast<std::size_t>(size_in_bytes(a.dtype));
    // Up to here all whole numbers are values of the type: 2^11 and 2^8 for 11 and 8 significant
    // bits. 2^24 is f32's, and is taken for wider types as well.
    const double exact = a.dtype == DType::F16 ? 2048 : a.dtype == DType::BF16 ? 256 : 16777216;
    *result = {count_elements(a.shape), 0, -1, 0, 0, 0, 0, 1};
    for (std::int64_t i = 0; i < result->elements; ++i) {
      const double x = element_as_double(a.dtype, a.data, i),
                   y = element_as_double(a.dtype, b.data, i);
      const std::size_t at = static_cast<std::size_t>(i) * bytes;
      if (y != std::floor(y) || std::abs(y) > exact) result->is_whole = 0;
      if (std::isfinite(y)) result->largest = std::max(result->largest, std::abs(y));
      if (std::memcmp(static_cast<const char*>(a.data) + at, static_cast<const char*>(b.data) + at,
                      bytes) == 0)
        continue;
      ++result->other_bits;
      if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
      const double apart = std::isfinite(x) && std::isfinite(y)
                               ? std::abs(x - y)
                               : std::numeric_limits<double>::infinity();
      if (apart <= result->difference) continue;
      result->difference = apart;
      result->first = i;
      result->got = x;
      result->expected = y;
    }
    return 0;
  } catch (const UserError& error) {
    return static_cast<int>(error.status());
  } catch (...) {
    return static_cast<int>(ExitStatus::Internal);
  }
}
}
