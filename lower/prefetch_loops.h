// A prefetch hint as loops: one prefetch for each cache line of the box that the hint brings.
//
//   for B.ahead in 0..4  prefetch B[k + 8, n.o * 64 + 16 * B.ahead]
#pragma once

#include "ir/loop_program.h"
#include "schedule/state/state.h"

namespace polyte::lower {

// Null where the box is not known, or empty.
ir::Stmt prefetch_loops(const schedule::State& state, const schedule::PrefetchHint& hint);

}  // namespace polyte::lower
