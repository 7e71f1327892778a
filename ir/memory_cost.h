// What one request of threads costs in memory: the addresses' wavefronts in shared memory, or
// pieces of a size that they touch. Private to warp_memory.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "support/checked.h"

namespace polyte::ir {

inline constexpr std::int64_t kBanks = 32, kWord = 4, kSector = 32;

inline std::int64_t wavefronts(const std::vector<std::int64_t>& offsets, std::int64_t bytes) {
  std::set<std::int64_t> words;
  for (const std::int64_t offset : offsets)
    for (std::int64_t at = polyte::floor_div(offset, kWord); at * kWord < offset + bytes; ++at)
      words.insert(at);
  std::array<std::int64_t, kBanks> of_bank{};
  for (const std::int64_t word : words) ++of_bank[static_cast<std::size_t>(word % kBanks)];
  return *std::ranges::max_element(of_bank);
}

inline std::int64_t count_pieces(const std::vector<std::int64_t>& offsets, std::int64_t bytes,
                                 std::int64_t piece) {
  std::set<std::int64_t> pieces;
  for (const std::int64_t offset : offsets)
    for (std::int64_t at = polyte::floor_div(offset, piece); at * piece < offset + bytes; ++at)
      pieces.insert(at);
  return static_cast<std::int64_t>(pieces.size());
}

}  // namespace polyte::ir
