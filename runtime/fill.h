// Test data from a few words, the same on every machine: zeros, ones, normal[:SEED], int:SEED. int
// gives whole numbers in [-4, 4] (unsigned types wrap, Bool takes the lowest bit), so that sums are
// exact and results can be compared bit for bit. Each tensor's stream depends on the seed and on
// its name, not on the order of filling.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/tensor.h"

namespace polyte::runtime {

struct Fill {
  enum class Kind { Zeros, Ones, Normal, Int };
  Kind kind = Kind::Normal;
  std::uint64_t seed = 0;
};

Fill parse_fill(std::string_view text);  // UserError(Usage)
void fill(Tensor& tensor, const Fill& fill, std::string_view name = "");

}  // namespace polyte::runtime
