// Static plan of the arena: each temporary of a network gets an offset such that buffers whose lifetimes meet do
// not overlap. Greedy by size (Pisarchyk and Lee 2020, arXiv:2001.03288): largest first, at the lowest offset
// that is free during its whole life. Offsets are multiples of 64 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polyte::runtime {

struct Lifetime {
  std::int64_t bytes = 0;
  int first_step = 0;  // the step that writes it
  int last_step = 0;   // the last step that reads it; both ends count
};

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  // one a buffer, in the order given
  std::int64_t total = 0;
};

ArenaPlan plan_arena(std::span<const Lifetime> lifetimes);

}  // namespace polyte::runtime
