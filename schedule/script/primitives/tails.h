// Tails: what the last tile of a loop does, for each statement (LoopRow::tail). A loop that
// is renamed, fused or split again keeps its tail, as it keeps its row. Of the tails, round
// (into padding) and shift (inwards, over what has run) change what a statement runs; cut, guard
// and mask are for lowering.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

// What these statements do with the last tile of a split whose inner loop this is; the other
// tails are only noted.
Applied with_tail(const State& state, const std::vector<std::string>& statements,
                  const std::string& inner, Tail tail, const PrimitiveContext& context);

// Of the loop of a tree: that of the statements below it, `cut` where one of them is, as it is one
// loop; nothing where no split has made it.
std::optional<Tail> tail_of(const State& state, const Loop& loop);

}  // namespace polyte::schedule
