// Where elements lie: those of a temporary in the memory of a tensor that is written later; those
// of a view where the tensor has them as it is declared.
#pragma once

#include <optional>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

// The same State with every access to reused storage as an access to the tensor that it lies in,
// and without views but those of long rows: loops go along dimensions that these have merged as
// along one, so that lanes cross from row to row. What lowering runs.
State as_lowered(const State& state);
// The same State, its basis too, with tensors in the shapes in which the reference declares them.
State without_views(const State& state);

// The first temporary that has no element left for the memory that it was given; nothing where
// all stand.
std::optional<Refusal> check_reused(const State& state);

}  // namespace polyte::schedule
