// The tile of rows and keys for attention in one pass, by price. A tile of keys asks of a
// multiprocessor multiply-adds, instructions, wavefronts of shared memory and bytes from the second
// cache; the busiest counts, and a little of the others.
#pragma once

#include <cstdint>

#include "schedule/cost/attention_pass.h"
#include "support/machine.h"

namespace polyte::poly {

using schedule::AttentionSizes;

// Cycles: predicted, of the whole launch. rows == 0: none fits.
struct PricedAttentionTile : schedule::AttentionTile {
  double cycles = 0;
};
struct PricedWarpAttentionTile : schedule::WarpAttentionTile {
  double cycles = 0;
};
PricedAttentionTile choose_attention_tile(const AttentionSizes& sizes, const Gpu& gpu);
PricedWarpAttentionTile choose_warp_attention_tile(const AttentionSizes& sizes,
                                                   std::int64_t score_bytes, const Gpu& gpu);

// Cycles of the same in other nests: a row per block, which reads all keys and values; and the
// least of three launches, which write the scores and their softmax, `bytes` each, to memory and
// read them; `fma_a_cycle`: of a multiprocessor.
double row_cycles(const AttentionSizes& sizes, const Gpu& gpu);
double least_launch_cycles(const AttentionSizes& sizes, const Gpu& gpu, double fma_a_cycle,
                           double bytes);

}  // namespace polyte::poly
