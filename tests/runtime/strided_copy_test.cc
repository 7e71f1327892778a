#include <doctest/doctest.h>

#include <numeric>

#include "runtime/strided_copy.h"

using namespace polyte::runtime;

TEST_CASE("which strides are dense, and which put no two elements in one place") {
  const std::int64_t shape[] = {2, 3}, row_major[] = {12, 4}, columns[] = {4, 8},
                     reversed[] = {12, -4}, repeated[] = {0, 4}, near[] = {4, 8},
                     overlapping[] = {8, 4};
  CHECK(is_dense(shape, row_major, 4));
  for (const auto& strides : {columns, reversed, repeated})
    CHECK_FALSE(is_dense(shape, {strides, 2}, 4));
  const std::int64_t one[] = {1, 3}, any[] = {77, 4}, none[] = {0, 3};
  CHECK(is_dense(one, any, 4));
  CHECK(is_dense(none, any, 4));
  for (const auto& strides : {row_major, columns, reversed, near})
    CHECK(is_one_to_one(shape, {strides, 2}, 4));
  for (const auto& strides : {repeated, overlapping})
    CHECK_FALSE(is_one_to_one(shape, {strides, 2}, 4));
  CHECK(is_one_to_one(none, any, 4));
}

TEST_CASE_TEMPLATE("a transposed and reversed array, there and back", T, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  constexpr std::int64_t kSize = sizeof(T);
  std::vector<T> memory(24);
  std::iota(memory.begin(), memory.end(), T{1});
  // [4, 3, 2] of what is [2, 3, 4], the middle dimension from its end.
  const std::int64_t shape[] = {4, 3, 2}, strides[] = {kSize, -4 * kSize, 12 * kSize};
  StridedCopy copy(shape, strides, kSize);
  T* const first = memory.data() + 8;
  copy.gather(first);
  T* const dense = static_cast<T*>(copy.dense());
  std::size_t at = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k, ++at) {
        CHECK(dense[at] == first[i - 4 * j + 12 * k]);
        dense[at] = static_cast<T>(dense[at] + 100);
      }
  copy.scatter(first);
  for (std::size_t i = 0; i < memory.size(); ++i) CHECK(memory[i] == static_cast<T>(i + 101));
}

TEST_CASE("a single element") {
  const double value = 3;
  StridedCopy copy({}, {}, 8);
  copy.gather(&value);
  CHECK(*static_cast<double*>(copy.dense()) == 3);
}
