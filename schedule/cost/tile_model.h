// Tile sizes by formulas over the machine, for whoever schedules a contraction: the block of the
// reduction, strides that want packing. Analytical (Low et al., "Analytical modeling is enough for
// high-performance BLIS"; the inequalities are written out at each function), nothing is measured
// and nothing recognises an operator.
#pragma once

#include <cstdint>

#include "support/machine.h"

namespace polyte::schedule {

// outer_rows x rows x (vectors * lanes) accumulators in registers.
struct RegisterTile {
  int rows = 1;
  int vectors = 1;
  int outer_rows = 1;  // of a second loop, where the first is short
};

struct ContractionShape {
  // Extents of the tiled row loop, the lane loop and all reductions together.
  std::int64_t m = 1, n = 1, k = 1;
  DType dtype = DType::F32;
};

// Equal blocks of the reduction, so that a column panel (block x vectors*lanes) stays in half of L2
// and a row panel streams: k itself up to 768, then near 512, a multiple of 8.
std::int64_t choose_reduction_block(const Machine& machine, const ContractionShape& shape,
                                    const RegisterTile& tile);

// A row stride that maps the rows of a tile to few sets of L1: then the operand wants packing.
bool conflicts_in_cache(const Machine& machine, std::int64_t stride_bytes, int rows);

}  // namespace polyte::schedule
