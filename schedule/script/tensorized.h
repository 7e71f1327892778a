// Tensorized loops: point nests that one instruction of the catalogue (ir/intrinsics.h) computes.
// What is compared is the nest as it stands, with its storage; it is compared again after
// every later directive.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ir/intrinsics.h"
#include "schedule/state/refusal.h"
#include "schedule/state/state.h"
#include "support/result.h"

namespace polyte::schedule {

// The loop and all below it as loops and a store. Refused where that is no nest of constant extents
// around one statement, all of whose iterations run.
// `may_be_cut`: where not all of them run, the store has a condition.
Result<ir::Stmt, Refusal> point_nest(const State& state, const Loop& loop, bool may_be_cut = false);
// True of instructions that take a tile cut short.
bool may_be_cut(const ir::Intrinsic& intrinsic);

// The first difference between a point nest and a row of the catalogue; nothing where it is
// what the row computes.
std::optional<ir::Mismatch> difference(const State& state, const ir::Intrinsic& intrinsic,
                                       const ir::Stmt& nest);

// Staged buffers of which an instruction may read whole tiles although the sum is cut short: their
// copies fill every element, and those beyond the terms of the sum with zeros (`pad`).
std::set<std::string> zero_filled(const State& state);

// The first tensorized loop that is none any more; nothing where all are.
std::optional<Refusal> check_tensorized(const State& state);

}  // namespace polyte::schedule
