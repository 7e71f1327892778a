// partition_loops: full and remainder tiles without a test in the hot one. Loops are visited
// outermost first; one is split where a minimum in the bounds of an Unrolled or Vector loop below,
// or a guard inside such a loop, changes side, for all values of the loops in between. The middle
// part has constant extents and no guard:
//
//   for m.o in 0..74                                    for m.o in 0..72
//     unrolled m.i in 0..min(14, 1021 - 14*m.o)   ->      unrolled m.i in 0..14  ...
//       ...                                             unrolled m.i in 0..13  ...       (m.o = 72)
//
// Where sizes are open, the tail runs any number of times below a tile's: one branch for each
// number. A Parallel loop stays one loop, its body chooses. Loops that are `uncut` keep their masks
// and guards, and so does what would exceed the limit on growth.
#pragma once

#include <cstdint>

#include "ir/loop_program.h"

namespace polyte::lower {

struct PartitionOptions {
  // At most so many times the stores of the program, unrolled loops written out.
  std::int64_t growth = 16;
  std::int64_t max_stores = 1200;         // and at most so many
  std::int64_t max_branch_stores = 2400;  // in the branches of open tails, of which a run takes one
};

ir::LoopProgram partition_loops(const ir::LoopProgram& program,
                                const PartitionOptions& options = {});

}  // namespace polyte::lower
