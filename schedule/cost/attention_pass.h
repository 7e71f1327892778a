// Attention (softmax_product.h) in one pass over the keys: what it asks of sizes and types, by the
// threads' own units and by tensor cores, and what a block has in shared memory. poly prices such
// tiles and templates size them by rule; that both ask here makes them comparable.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/intrinsics.h"
#include "ir/loop_program.h"
#include "schedule/cost/softmax_product.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Iterations: batches, rows, keys, steps of a score, columns of the result.
struct AttentionSizes {
  std::int64_t batches = 1, rows = 1, keys = 1, steps = 1, columns = 1;
};

// Of f32, by the threads' own units. Declined: why not.
std::optional<Decline> why_not_by_threads(const ir::Program& program, const SoftmaxProduct& form,
                                          const AttentionSizes& sizes);

struct AttentionTile {
  std::int64_t rows = 0, keys = 0;  // of a block; of its tiles
  // Rows of a thread; threads along the keys, and the columns.
  std::int64_t thread_rows = 1, lanes = 16;
  std::int64_t depth = 1;  // tiles of keys in shared memory

  std::int64_t threads() const { return rows / thread_rows * lanes; }
  std::int64_t shared_bytes(const AttentionSizes& sizes) const;
};

// By tensor cores, of operands of 16 bits: both products by an instruction of 16 rows, 8 columns
// and 16 terms.
struct WarpAttention {
  const ir::Intrinsic *of_scores = nullptr, *of_product = nullptr;
  std::int64_t score_bytes = 4;  // of a score in shared memory
};
Result<WarpAttention> find_warp_attention(const ir::Program& program, const SoftmaxProduct& form,
                                          const AttentionSizes& sizes, const Machine& machine);

// A warp has 16 rows, two of its threads each of them in the softmax. Tiles of keys leave no rest.
struct WarpAttentionTile {
  static constexpr std::int64_t kRows = 16, kColumns = 8, kSteps = 16;  // of the instruction
  // Numbers of 16 bytes, which ldmatrix takes.
  static constexpr std::int64_t kChunk = 8;
  std::int64_t rows = 0, keys = 0, depth = 1;

  std::int64_t warps() const { return rows / kRows; }
  std::int64_t threads() const { return warps() * ir::kLanes; }
  std::int64_t shared_bytes(const AttentionSizes& sizes, std::int64_t score_bytes) const;
};

// What lies behind a row of an operand, so many numbers long, that its chunks are in other banks
// than the next one's: a swizzle where the length is a power of two, else a pad.
struct ChunkedRow {
  bool is_swizzled = false;
  std::int64_t pad = 0;
};
ChunkedRow chunked_row(std::int64_t row);

}  // namespace polyte::schedule
