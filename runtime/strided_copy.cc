#include "runtime/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/tensor.h"

namespace polyte::runtime {
namespace {

// Calls step(offset in bytes) for each element in row-major order.
template <class Step>
void walk(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
          std::int64_t offset, const Step& step) {
  if (shape.empty()) return step(offset);
  for (std::int64_t i = 0; i < shape[0]; ++i, offset += strides[0]) {
    if (shape.size() == 1)
      step(offset);
    else
      walk(shape.subspan(1), strides.subspan(1), offset, step);
  }
}

// Elements as integers of their size, which the compiler turns into single loads and stores.
template <std::size_t kSize, class Step>
void copy_all(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              const Step& copy) {
  std::int64_t at = 0;
  walk(shape, strides, 0, [&](std::int64_t offset) {
    copy(at, offset, std::integral_constant<std::size_t, kSize>());
    at += static_cast<std::int64_t>(kSize);
  });
}

template <class Step>
void copy_sized(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                std::int64_t size, const Step& copy) {
  if (size == 1) return copy_all<1>(shape, strides, copy);
  if (size == 2) return copy_all<2>(shape, strides, copy);
  if (size == 4) return copy_all<4>(shape, strides, copy);
  POLYTE_CHECK(size == 8, "an element of another size");
  copy_all<8>(shape, strides, copy);
}

}  // namespace

bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              std::int64_t unit) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  for (std::size_t d = shape.size(); d-- > 0; unit *= shape[d])
    if (shape[d] != 1 && strides[d] != unit) return false;
  return true;
}

// From the smallest stride up, each steps over all that those before it can reach.
bool is_one_to_one(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                   std::int64_t unit) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, extent
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return true;
    if (shape[d] > 1) steps.emplace_back(std::abs(strides[d]), shape[d]);
  }
  std::ranges::sort(steps);
  std::int64_t reach = unit;  // bytes from the first to behind the last element
  for (const auto& [stride, extent] : steps) {
    if (stride < reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

StridedCopy::StridedCopy(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                         std::int64_t size)
    : shape_(shape.begin(), shape.end()),
      strides_(strides.begin(), strides.end()),
      size_(size),
      dense_(count_elements(shape) * size) {}

void StridedCopy::gather(const void* data) {
  std::byte* to = dense_.data();
  const auto* from = static_cast<const std::byte*>(data);
  copy_sized(shape_, strides_, size_, [&](std::int64_t at, std::int64_t offset, auto bytes) {
    std::memcpy(to + at, from + offset, bytes());
  });
}

void StridedCopy::scatter(void* data) const {
  auto* to = static_cast<std::byte*>(data);
  const std::byte* from = dense_.data();
  copy_sized(shape_, strides_, size_, [&](std::int64_t at, std::int64_t offset, auto bytes) {
    std::memcpy(to + offset, from + at, bytes());
  });
}

}  // namespace polyte::runtime
