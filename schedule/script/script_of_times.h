// Another tool's times of the statements of a Program as a Script: `map` rows, tiles and one nest.
//
//   { B[t, i] -> [t/16, (2t + i)/64, t, 2t + i, 0];
//     A[t, i] -> [t/16, (2t + i + 1)/64, t, 2t + i + 1, 1] }
//
//   map   B (t, 2*t + i), A (t, 2*t + i + 1) as (t, I)
//   tile  (t, I) by (16, 64) tail cut
//   nest  t.o > I.o > t.i > I.i > { B; A }
#pragma once

#include <span>

#include "schedule/proof/foreign_schedule.h"
#include "schedule/script/script.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Not proved, and not compared with what the times say (ForeignSchedule::is_order_of): who asks
// does both. Declines where a tile has no loop within it.
Result<Script> script_of_times(const ir::Program& program, std::span<const ForeignRows> times,
                               Terms terms, const Machine& machine);

}  // namespace polyte::schedule
