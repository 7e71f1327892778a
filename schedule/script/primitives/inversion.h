// Inversion of affine schedules in exact integers: loops given as expressions over unknowns,
// solved for the unknowns.
//
//   I = 2*t + i, t = t              i = I - 2*t             a unimodular matrix
//   a = i//4, b = i%4, c = 3*j      i = 4*a + b, j = c//3   implied: 0 <= b < 4, c%3 == 0
//   q = 10*i + j  with 0 <= j < 10  i = q//10, j = q%10     digits of one value: intervals show it
//
// A division counts as an unknown of its own until its numerator is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

struct Inversion {
  // Every unknown, over the loops of the equations and what else they use.
  ir::Bindings values;
  std::vector<ir::Constraint> implied;  // what the equations say of the loops by themselves
};

// Loops and unknowns may have the same names (i = i + 2): `value` is over the unknowns, the result
// over the loops. `ranges`: of the unknowns. nullopt where no unique solution is found.
std::optional<Inversion> invert(const std::vector<LoopRow>& equations,
                                const std::vector<std::string>& unknowns, const ir::Ranges& ranges);

}  // namespace polyte::schedule
