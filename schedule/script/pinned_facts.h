// What is true of a State that a line of a script may have made so, each fact by itself: loops by
// what they count, storage, hints. The order of loops is no fact, but a form (pins.h).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "schedule/state/state.h"

namespace polyte::schedule {

struct PinnedFact {
  std::string statement;  // of a loop
  ir::Affine value;       // what the loop counts, over the statement's iterators
  std::string words;      // of all that is no loop, and of a loop its tail

  friend bool operator<(const PinnedFact& a, const PinnedFact& b);
};

std::set<PinnedFact> facts_of(const State& state);
// Why a fact does not hold in a State: for a loop "S has no loop that counts k//32", for any
// other fact that it is no longer there. Empty: it holds.
std::string missing(const State& state, const PinnedFact& fact);

// Whether `value` is the part of `whole` that a chain of `.o` and `.i` names, for some sizes:
// k//32 is the ".o" of k.
bool is_part(const ir::Affine& value, const ir::Affine& whole, std::string_view chain);
inline constexpr std::string_view kPartChains[] = {"", ".o", ".i", ".i.o", ".i.i", ".o.o", ".o.i"};

}  // namespace polyte::schedule
