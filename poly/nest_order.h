// A `nest` stands where its last statement stood. Where isl orders nests anew, one would come
// before what it reads; then the order between nests is said first, each still as the reference
// has it:
//
//   for i { t0 }  for i { t3 reads t0 }  for i { t4 }      isl: { t0; t4 } then t3
//   nest { i > t0; i > t4; i > t3 }                        and then: nest i > { t0; t4 }
#pragma once

#include <optional>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"

namespace polyte::poly {

// A plan of the order alone; none where the nests are in the order of the text.
std::optional<schedule::NestPlan> order_of_nests(const schedule::State& reference,
                                                 const std::vector<Core>& nests);

}  // namespace polyte::poly
