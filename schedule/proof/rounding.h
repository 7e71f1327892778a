// What a Script changes in the rounding of its Program, with a bound: one line a sum (or product)
// of floating-point numbers whose terms are combined in another order or with other factors
// than the reference has them, one for a contract that nobody needed, and one per statement that
// multiplies by reciprocals. Empty for a script that changes nothing and says so.
#pragma once

#include <string>
#include <vector>

#include "schedule/proof/prover.h"

namespace polyte::schedule {

// u: half the distance from 1 to the next number of this floating-point type.
double unit_roundoff(DType type);

std::vector<std::string> rounding_notes(const State& state, Prover& prover);

}  // namespace polyte::schedule
