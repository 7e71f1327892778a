// The Program that a State has come to, with its loops as iterators: so the planners of nests can
// go on from what the first directives of a script have made.
//
//   acc[m, n] += x[m, k] * w[k, n]
//     split_reduction acc: k into 4 as part   ->
//   part[k.o, m, n] += x[m, 64*k.o + k.i] * w[64*k.o + k.i, n]
//   acc[m, n] += part[k.o, m, n]
//
// To plan by, not to prove by: its statements are in the order of the State's, and the order of
// their iterations is that of the loops above each.
#pragma once

#include "schedule/state/state.h"

namespace polyte::poly {

ir::Program over_loops(const schedule::State& state);

}  // namespace polyte::poly
