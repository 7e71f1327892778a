// Bounds of a loop of a State's tree from the leaves below it: what their domains, projected
// onto the loops above, leave of its values. A loop that several leaves share runs over the
// union of theirs.
#pragma once

#include "ir/affine_system.h"
#include "ir/facts.h"
#include "lower/leaf_instances.h"

namespace polyte::lower {

// max(lower) <= variable < min(upper).
struct LoopBounds {
  std::vector<ir::Affine> lower, upper;
};

// `depth` loops are above. UserError(Unsupported) where a leaf bounds the loop on one side only, or
// where no bound is known to hold for all leaves.
LoopBounds union_bounds(const schedule::State& state, const ir::Facts& facts,
                        const schedule::Loop& loop, std::size_t depth,
                        const std::vector<LeafInstance*>& below);

}  // namespace polyte::lower
