// Tails: what the last tile of a loop does, by statement and loop as they are called now (State::splits). A loop that
// is renamed, fused or split again keeps its tail. Of the tails, round (into padding) and shift (inwards, over what has
// run) change what a statement runs; cut, guard and mask are for lowering.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

// What these statements do with the last tile of a split whose inner loop this is; the other tails are only noted.
Applied with_tail(const State& state, const std::vector<std::string>& statements, const std::string& inner, Tail tail,
                  const PrimitiveContext& context);

// The tail of a loop that a split has made for the statement; nothing for other loops.
std::optional<Tail> tail_of(const State& state, const std::string& statement, const std::string& loop);
// Of the loop of a tree: that of the statements below it, `cut` where one of them is, as it is one loop.
std::optional<Tail> tail_of(const State& state, const Loop& loop);
// Gives the loop `now` of the statement the tail that `loop` has, if any; `loop` keeps it where the names differ only
// until forget_tail.
void inherit_tail(State& state, const std::string& statement, const std::string& loop, const std::string& now);
void forget_tail(State& state, const std::string& statement, const std::string& loop);

}  // namespace polyte::schedule
