// The tile of sums that a block's warps make with an instruction of theirs, by cost: which loops
// are rows, lanes and steps, how far a block and a warp reach, how many steps go through shared
// memory at a time and how many such slices are under way. Each candidate is priced by what a slice
// asks of a multiprocessor: its tensor cores, wavefronts of shared memory, instructions, bytes
// from the second cache; the busiest counts, and a little of the others; a slice takes at least the
// latency of memory shared among those under way.
//
//   C[m, n] = sum[k] A[m, k] * B[k, n]
//   128 x 128 sums per block, 64 x 32 per warp, 32 steps at a time, 3 under way
//
// The form is that of CUTLASS: A. Kerr and others, "CUTLASS: Fast linear algebra in CUDA
// C++", 2017.
#pragma once

#include <span>

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/warp_product.h"

namespace polyte::schedule {

struct WarpTile {
  WarpProduct product;
  // Of the block's sums.
  std::int64_t block_rows = 0, block_lanes = 0;
  // Of a warp's; divide those of the block.
  std::int64_t warp_rows = 0, warp_lanes = 0;
  std::int64_t steps = 0;     // of a slice
  std::int64_t depth = 1;     // slices in shared memory; 1: copied where they are read
  bool steps_inside = false;  // the sum's other loops run within a slice, else around it
  bool rows_inside = false;   // of the grid: neighbouring blocks have other rows, not other lanes
  double cycles = 0;          // predicted, of the whole launch

  std::int64_t warps() const { return block_rows / warp_rows * (block_lanes / warp_lanes); }
};

// How an operand is copied into shared memory, one slice of it. Where a tile is longer than
// all that it moves over, the box of a stage rests, and what is filled up has room for the tile
// in all its places.
struct WarpOperand {
  std::vector<std::int64_t> box;  // by dimension: elements of a slice
  std::size_t inmost = 0;         // the dimension whose elements lie together in shared memory
  std::int64_t vector = 1;        // elements that a thread copies at once
  // A warp reads rows of 16 bytes, eight at a time; else each lane its elements.
  bool in_rows = true;
};
WarpOperand warp_operand(const ir::Program& program, const ir::Load& load, const WarpTile& tile,
                         const std::vector<PricedLoop>& loops);

struct WarpTileQuestion {
  const ir::Program* program = nullptr;
  const ir::Statement* update = nullptr;
  std::span<const ir::Statement* const> others;  // at its points: initial value, what follows
  std::vector<PricedLoop> loops;                 // of the update
  std::string whole = {};                        // of them one whose slices leave no rest
};

// nullopt: no candidate fits.
std::optional<WarpTile> choose_warp_tile(const WarpTileQuestion& question,
                                         std::span<const WarpProduct> products,
                                         const Machine& machine);

}  // namespace polyte::schedule
