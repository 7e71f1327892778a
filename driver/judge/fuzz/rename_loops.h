// What a loop is called changes nothing: all loops of a State renamed, and lowered, are the same
// loops up to names. Directives that keep what they know under a loop's name lose it here.
#pragma once

#include <optional>
#include <string>

#include "driver/judge/fuzz/random.h"
#include "schedule/state/state.h"

namespace polyte::fuzz {

// By `rename` directives, one per name, in random order, to names that say nothing of a split.
// Sorted, the new names are as the old ones were: terms print in the order of their names. nullopt
// where a loop cannot be renamed.
std::optional<schedule::State> renamed_loops(const schedule::State& state, const Machine& machine,
                                             Random& random);

// Empty where the texts are the same up to a one-to-one change of names; else the first
// lines that differ.
std::string difference_but_names(const std::string& a, const std::string& b);

}  // namespace polyte::fuzz
