// Few sums of many terms each, on a GPU: a launch whose blocks each take a part of the terms, then
// one that adds what the parts have come to.
//
//   s = sum[k] x[k] * y[k]
//   block b > { thread k.i.i > { s_p.init; k.o > s_p.update }; thread > s_q; s_g }      then      s
#pragma once

#include <optional>

#include "poly/sum_tile.h"

namespace polyte::poly {

// None where there are sums enough, or terms too few; or where the order of floating-point sums
// is kept.
std::optional<schedule::NestPlan> plan_spread_nest(const SumNest& nest);

}  // namespace polyte::poly
