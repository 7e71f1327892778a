// The tile of rows and keys for attention in one pass, by price. A tile of keys asks of a multiprocessor multiply-adds,
// instructions, wavefronts of shared memory and bytes from the second cache; the busiest counts, and a little of the
// others.
#pragma once

#include <cstdint>

#include "support/machine.h"

namespace polyte::poly {

// Iterations: batches, rows, keys, steps of a score, columns of the result.
struct AttentionSizes {
  std::int64_t batches = 1, rows = 1, keys = 1, steps = 1, columns = 1;
};

struct AttentionTile {
  std::int64_t rows = 0, keys = 0;           // of a block; of its tiles
  std::int64_t thread_rows = 1, lanes = 16;  // rows of a thread; threads along the keys, and the columns
  std::int64_t depth = 1;                    // tiles of keys in shared memory
  double cycles = 0;                         // predicted, of the whole launch

  std::int64_t threads() const { return rows / thread_rows * lanes; }
  std::int64_t shared_bytes(const AttentionSizes& sizes) const;
};

// By tensor cores, of operands of 16 bits: a warp has 16 rows, two of its threads each of them in the softmax. Tiles of
// keys leave no rest.
struct WarpAttentionTile {
  std::int64_t rows = 0, keys = 0, depth = 1;
  double cycles = 0;

  std::int64_t warps() const { return rows / 16; }
  std::int64_t shared_bytes(const AttentionSizes& sizes, std::int64_t score_bytes) const;
};
// `score_bytes`: of a score in shared memory. rows == 0: none fits.
WarpAttentionTile choose_warp_attention_tile(const AttentionSizes& sizes, std::int64_t score_bytes, const Gpu& gpu);

// rows == 0: none fits.
AttentionTile choose_attention_tile(const AttentionSizes& sizes, const Gpu& gpu);
// Cycles of the same in other nests: a row a block, which reads all keys and values; and the least of three launches,
// which write the scores and their softmax, `bytes` each, to memory and read them; `fma_a_cycle`: of a multiprocessor.
double row_cycles(const AttentionSizes& sizes, const Gpu& gpu);
double least_launch_cycles(const AttentionSizes& sizes, const Gpu& gpu, double fma_a_cycle, double bytes);

}  // namespace polyte::poly
