// Random Programs of loose statements over a few accumulators: what a proof has to keep apart
// although it looks alike.
//
//   generations   one tensor initialised, summed up, read, initialised anew, summed up by another
//                 combiner, in regions (several, nested, upwards and downwards) and between them
//   reads         the same element under two guards, `if .. else`, of the updated tensor itself in
//                 the value, in `when`, in a subscript
//   subscripts    scatters and gathers, `//` and `%` and differences where it is written, ranges
//                 that begin below zero
//   types         integers, bool, and floats whose sums are exact in any order: values are clamped
//                 to small whole numbers
//
//   temp acc0: i32[M]
//   I0: acc0[i] = 0
//   U1: acc0[i] += a1[i, k]          for i in 0..M, k in 0..K
//   Y2: y2[i] = acc0[i] * 2          for i in 0..M
//   U3: acc0[i] max= a1[i, k] - acc0[i]   when a2[i] < 2
#pragma once

#include "driver/judge/fuzz/random_program.h"

namespace polyte::fuzz {

// Without sizes: random_program gives them.
RandomProgram random_updates(Random& random);

}  // namespace polyte::fuzz
