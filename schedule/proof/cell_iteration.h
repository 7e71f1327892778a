// Where a cell fixes the iteration of a loop, that loop orders no two accesses of one cell and
// carries nothing through the buffer. A cheap test that sources and races share; `false` only means
// that it is not shown.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

// Accesses of one cell of `buffer` below the loop lie in one iteration of it.
bool cell_fixes_iteration(const IslModel& model, int buffer, LoopId loop_id);

}  // namespace polyte::schedule
