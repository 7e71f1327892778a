// Tails of splits that change what a statement runs: round (into padding) and shift (inwards, over what has run).
#pragma once

#include "schedule/language/primitives/edit.h"

namespace polyte::schedule {

// What these statements do with the last tile of a split whose inner loop this is; the other tails are only noted.
Applied with_tail(const State& state, const std::vector<std::string>& statements, const std::string& inner, Tail tail,
                  const PrimitiveContext& context);

}  // namespace polyte::schedule
