// The tile of sums that a block of a GPU makes, by cost: which free loops it spans and how
// far, how many of its sums one thread keeps in registers, how many steps of the sum go through
// shared memory at a time. Each candidate is priced by what a step asks of a multiprocessor:
// multiply-adds, wavefronts of shared memory, instructions, bytes from the second cache; the
// busiest counts, and a little of the others; then by how many blocks run at once and in how many
// turns. A slice waits for memory, unless it was begun some slices before.
//
//   C[m, n] = sum[k] A[m, k] * B[k, n]
//   64 x 64 sums per block, 4 x 4 per thread, 16 steps of k at a time
//
// The form is that of V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear algebra",
// SC 2008.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/cost/nest_accesses.h"
#include "support/machine.h"

namespace polyte::schedule {

// A free loop that the tile spans.
struct GpuTileSide {
  std::string loop;
  std::int64_t block = 1;   // iterations of a block
  std::int64_t thread = 1;  // of them one thread's; divides `block`
  std::int64_t threads() const { return block / thread; }
};

struct GpuTile {
  // Outermost first; the last one is the lanes': neighbours are neighbouring threads.
  std::vector<GpuTileSide> sides;
  // The loop of the sum that is cut, those before it run outside; empty: none is.
  std::string step;
  std::int64_t steps = 1;   // of it at a time
  std::int64_t vector = 1;  // neighbours along the lanes that are one thread's, and read at once
  std::int64_t depth = 1;   // slices in shared memory; 1: copied where they are read
  // The sides' loops, slowest first: as blocks of them are numbered.
  std::vector<std::string> grid = {};
  double cycles = 0;  // predicted, of the whole launch

  std::int64_t threads() const;  // of a block
  // Elements along the side that a thread reads from shared memory at once.
  std::int64_t read_at_once(const GpuTileSide& side) const;
  // Of a row in memory so long, elements that threads transpose at a time where they become a
  // column: a sector, where rows of shared memory are padded by whole vectors; else all, as an odd
  // padding parts any number of banks.
  std::int64_t turned_at_once(std::int64_t row, const GpuTileSide& side) const;
};

struct GpuTileQuestion {
  const ir::Program* program = nullptr;
  const ir::Statement* update = nullptr;
  std::span<const ir::Statement* const> others;  // at its points: initial value, what follows
  std::vector<PricedLoop> loops;                 // of the update
  std::vector<std::string> free;                 // those that may be sides
  std::string whole = {};                        // one whose slices leave no rest
};

// Without sides where no tile has an operand that several threads read.
GpuTile choose_gpu_tile(const GpuTileQuestion& question, const Machine& machine);

}  // namespace polyte::schedule
