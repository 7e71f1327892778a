// Storage in place: the elements of a temporary live in the memory of a tensor that is written later.
#pragma once

#include <optional>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

// The same State with every access to reused storage as an access to the tensor that it lies in; what lowering runs.
State in_place(const State& state);

// The first temporary that has no element left for the memory that it was given; nothing where all stand.
std::optional<Refusal> check_reused(const State& state);

}  // namespace polyte::schedule
