// Which parts of sums are worth computing before them (`precompute`): those that a register
// tile would compute anew in each of its tiles, where that costs more than to write them down
// and read them.
//
//   C[m, n] += 2 * A[m, k] * B[k, n]     2 * A[m, k] once, not once more for each tile of n
#pragma once

#include <vector>

#include "ir/precompute.h"
#include "support/machine.h"

namespace polyte::schedule {

// In the order of the statements; none on a GPU. They are made of inputs alone, so that they come
// before all else, whatever a scheduler does with the rest. Each can be put into the Program, one
// after the other (ir::with_precomputed). Sums that read an operand in every iteration anew wait
// for memory, and compute as they go.
std::vector<ir::Precomputed> kept_values(const ir::Program& program, const Machine& machine);

}  // namespace polyte::schedule
