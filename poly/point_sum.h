// A thread a sum, for sums whose operands nobody shares and that neighbours read side by side.
//
//   y[j] = sum[i] x[i, j]     block > thread j > { y.init; i > y.update }
#pragma once

#include <optional>

#include "poly/sum_tile.h"

namespace polyte::poly {

// None where terms of one sum lie closer together than those of neighbouring ones: then threads had
// better share a sum.
std::optional<SumPlan> plan_point_sum(const SumNest& nest);

}  // namespace polyte::poly
