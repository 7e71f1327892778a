// Divisions in subscripts that change once in all iterations, as that of x[(j + 37) % 1000]
// does for j in 0..1000. Lowering runs the iterations before the change and those after it apart
// (lower/partition_loops.h); a scheduler plans the statement as if the division kept the value that
// it has most often:
//
//   y[i, j] = x[i, (j + 37) % 1000]    is planned as    y[i, j] = x[i, j + 37]
#pragma once

#include <optional>

#include "ir/program.h"

namespace polyte::ir {

// The Program to plan: reads outside of regions and sums, of what no statement writes. Its
// subscripts may be outside of their tensors. nullopt: nothing there divides so.
std::optional<Program> with_steady_divisions(const Program& program);

}  // namespace polyte::ir
