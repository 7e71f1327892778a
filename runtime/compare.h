// Comparison of a result with what was expected: type and shape exactly, then elements by
// |got - expected| <= atol + rtol * |expected|. NaN equals NaN, an infinity only itself. With both
// tolerances zero elements are equal bit for bit, so that -0 is not 0; only a NaN equals any other,
// as no operation promises which one it gives. compare_bits compares the bytes, of NaNs too.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tensor.h"

namespace polyte::runtime {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

struct Comparison {
  bool equal = true;
  std::int64_t mismatches = 0;    // elements outside the tolerance; 0 when type or shape differ
  Shape first;                    // index of the first mismatch
  double max_absolute_error = 0;  // over all elements that are finite on both sides
  double max_relative_error = 0;  // of the elements whose expected value is not 0
  std::string message;            // one line; empty when equal
};

Comparison compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance);
Comparison compare_bits(const Tensor& got, const Tensor& expected);

}  // namespace polyte::runtime
