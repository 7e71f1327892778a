// A sum whose points are too few to fill a GPU, in parts: the parts are points of a sum of their
// own, planned as any other, and a second launch adds them up.
//
//   acc[m, n] = sum[k] x[m, k] * w[k, n]      49 x 512 points of 4608 terms: 7 tiles, in parts 112
//
//   { block k.o > block n.o > { .. part.init; .. part.update; .. }
//   ; block > thread point > { acc.init; k.o > acc.update } }
//
// The terms change places: the contract names the loop. How many parts is asked of the prices
// of what they become. Known as split-K: M. Osama and others, "Stream-K: work-centric parallel
// decomposition for dense matrix-matrix multiplication on the GPU", 2023, section 2.
#pragma once

#include <functional>
#include <optional>

#include "poly/sum_tile.h"

namespace polyte::poly {

using SumPlanner = std::function<std::optional<SumPlan>(const SumNest&)>;

// Cheaper than `cycles`, that of the sum as a whole; none where nothing is, or where the order of
// the terms is kept.
std::optional<SumPlan> plan_parts_nest(const SumNest& nest, double cycles,
                                       const SumPlanner& plan_part);

}  // namespace polyte::poly
