// Where tiles count from. `split m by 12` counts from 0, so that a loop over 1..501 has a first
// tile of 11 iterations, whose bound max(0, 1 - 12*m.o) stands in every tile: no vectors, no sums
// in registers. `split m by 12 from 1` has whole tiles and a tail at the end
// (schedule/state/tile_begins.h).
#pragma once

#include <span>

#include "schedule/script/script.h"

namespace polyte::schedule {

// In the directives of one nest that a scheduler has written: splits of an iterator count from
// the first value that it has in the statements which share its tiles, where that is a number.
void count_from_begins(const ir::Program& program, std::span<Directive> nest);

}  // namespace polyte::schedule
