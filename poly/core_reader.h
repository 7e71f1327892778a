// isl's schedule tree of clusters brought back to names: bands, sequences and clusters of the
// affine core (poly/affine_core.h).
#pragma once

#include <isl/cpp.h>

#include <vector>

#include "poly/affine_core.h"

namespace polyte::poly {

// `node`: the root; its tuples are C0, C1, .., by the positions of `clusters`. Declines where a row
// is not one that the schedule language can say; `allow_maps`: of skewed, shifted and reversed
// loops it can.
Result<Core> read_core(const isl::schedule_node& node, const std::vector<Cluster>& clusters,
                       bool allow_maps);

}  // namespace polyte::poly
