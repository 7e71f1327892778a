// What the blocks of a launch ask of a GPU's own memory, behind the second cache. Blocks that run
// at the same time and read the same box of a tensor fetch it once; those of the next turn fetch
// it again, unless the whole tensor stays in the second cache. So the order in which blocks are
// numbered counts: 132 blocks at a time in a grid of 3 x 100 read all hundred sets of columns and
// two of rows. What is written and stays in the second cache is read from there.
//
// The count is that of M. Lam, E. Rothberg and M. Wolf, "The cache performance and optimizations of
// blocked algorithms" (ASPLOS 1991) with a turn of blocks as the block.
#pragma once

#include <span>

#include "schedule/cost/nest_accesses.h"
#include "support/machine.h"

namespace polyte::schedule {

constexpr std::int64_t kLongestAxis = 65535;  // blocks along a loop of the grid, but the last one

struct BlocksOfLaunch {
  // By loop of the nest: iterations of one block; of a sum's loop all.
  std::vector<std::int64_t> tile = {};
  // Loops that blocks share, slowest first: neighbours along the last one run together.
  std::vector<std::size_t> grid = {};
  double at_once = 1;  // of a multiprocessor
};

// Bytes that come from memory or go there, by all blocks.
double device_memory_bytes(const NestAccesses& nest, const BlocksOfLaunch& blocks, const Gpu& gpu);

// Orders the last `sides` loops of the grid so that the launch takes the fewest bytes, as it stands
// where none is clearly better, and none of them is longer than a grid has room for, where that can
// be. Returns the bytes.
double order_grid(const NestAccesses& nest, BlocksOfLaunch& blocks, std::size_t sides,
                  const Gpu& gpu);

// Cycles that a launch takes which waits so long for all else, beside its bytes of memory.
double with_device_memory(double cycles, double bytes, const Gpu& gpu);

}  // namespace polyte::schedule
