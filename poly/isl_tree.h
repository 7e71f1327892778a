// isl's schedule tree brought back to names: rows over a statement's iterators and
// the Program's sizes.
#pragma once

#include "poly/order_tree.h"
#include "schedule/proof/isl_bridge.h"
#include "support/result.h"

namespace polyte::poly {

// Of the statements that isl was given; not `completed`. Declines rows that are no affine
// expressions, and those that tell one statement's iterations from another's by a large number.
Result<OrderTree> order_of(const isl::schedule& schedule, const schedule::IslModel& model);

}  // namespace polyte::poly
