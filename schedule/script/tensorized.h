// Tensorized loops: point nests that one instruction of the catalogue (ir/intrinsics.h) computes. What is compared is
// the nest as it stands, with its storage; it is compared again after every later directive.
#pragma once

#include <optional>

#include "ir/intrinsics.h"
#include "schedule/state/refusal.h"
#include "schedule/state/state.h"
#include "support/result.h"

namespace polyte::schedule {

// The loop and all below it as loops and a store. Refused where that is no nest of constant extents around one
// statement, all of whose iterations run.
Result<ir::Stmt, Refusal> point_nest(const State& state, const Loop& loop);

// The first difference between a point nest and a row of the catalogue; nothing where it is what the row computes.
std::optional<ir::Mismatch> difference(const State& state, const ir::Intrinsic& intrinsic, const ir::Stmt& nest);

// The first tensorized loop that is none any more; nothing where all are.
std::optional<Refusal> check_tensorized(const State& state);

}  // namespace polyte::schedule
