// Attention in one pass over the keys by tensor cores (poly/attention_nest.h), where the operands
// and what weighs the values are of 16 bits. A warp has 16 rows, and two of its threads each of
// them in the softmax:
//
//   block h > block i.o > { rows > { m.init; l.init }; sums > u.init
//                         ; j.o > { mma > t.update; s, through shared memory
//                                 ; maxima of halves of a row, m
//                                 ; e, p = f16(e), to shared memory; sums of halves of a row, l
//                                 ; u.scale; mma > u.update }
//                         ; sums > o }
//
// Keys that no tile divides, and operands whose rows are no whole matrices, stay with other nests.
#pragma once

#include "poly/attention_nest.h"

namespace polyte::poly {

// Without a `why` where it is none for tensor cores.
AttentionPlan plan_attention_by_warps(const AttentionNest& nest);

}  // namespace polyte::poly
