// What the primitives that map loops share.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

// Two instances that would be one iteration, where some are found; else that it cannot be shown
// that there are none.
Refusal not_one_to_one(const State& state, const ScheduledStatement& s,
                       const std::vector<LoopRow>& rows);

// The rows and leaves of a map without its nest: the tree then has the loops of before.
std::optional<Refusal> map_rows(State& state, const Map& directive,
                                const PrimitiveContext& context);
// Iterators that do not come back from the loops of a map, where the State does not verify
// for that reason.
Refusal iterators_lost();

// Statements that a selector and a loop mean: those of the selector (all, if empty) that own
// the loop.
Result<std::vector<std::string>, Refusal> owners_of(const State& state, const LoopName& loop);

// One loop replaced by an expression over loops, what the small forms have in common. `name` empty:
// the loop's own.
Applied remap_one(const State& state, const LoopName& loop, const std::string& value,
                  const std::string& name, const PrimitiveContext& context);

}  // namespace polyte::schedule
