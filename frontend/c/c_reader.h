// C's affine part as Programs: what stands between `#pragma scop` and `#pragma endscop`, one
// Program per pair.
//
//   #pragma scop
//   for (int i = 0; i < N; i++)             loop i in 0..N
//     for (int j = 0; j < i; j++)      ->     S0: A[i, j] += -A[j, i]  for j in 0..i
//       A[i][j] -= A[j][i];                   S1: b[i] = A[i, i]
//     b[i] = A[i][i];
//
// Loops are ordered regions; those around a single statement are its ranges. An `if` of affine
// comparisons is a predicate, any other a run-time condition. Names that nothing declares, in
// capitals, are sizes, and so are integers that the scop does not write. `+=` of a product is a
// fused multiply-add, and fmin and fmax keep NaN, as Program text has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace polyte::frontend {

// `real` is the type DATA_TYPE. All problems at once: UserError(InvalidInput), each
// `origin:line:column: ...`.
std::vector<ir::Program> read_c(std::string_view text, const std::string& origin, DType real);

}  // namespace polyte::frontend
