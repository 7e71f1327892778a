// Static plan of the arena: each block of memory gets an offset such that bytes that are wanted at
// the same time do not overlap. A block is one value's bytes, or several values that lie at fixed
// distances from each other (the parts of a concatenation in the whole); what none of its values
// wants at a time is free for other blocks then.
//
// Greedy by size (Pisarchyk and Lee 2020, arXiv:2001.03288): largest first, at the lowest offset
// that is free where and when each part of the block is wanted. Offsets of blocks are multiples
// of 64 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polyte::runtime {

// Bytes of a block that are wanted from one step to another.
struct Lifetime {
  std::int64_t bytes = 0;
  int first_step = 0;       // the step that writes them
  int last_step = 0;        // the last step that reads them; both ends count
  std::int64_t offset = 0;  // from the beginning of the block, not negative
};
using Block = std::vector<Lifetime>;

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  // one per block, in the order given
  std::int64_t total = 0;
};

ArenaPlan plan_arena(std::span<const Block> blocks);

}  // namespace polyte::runtime
