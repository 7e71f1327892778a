// Lanes along a loop that holds others, where these wait for each other: rows of a recurrence are
// independent, its steps are not. A strip of rows goes innermost, below all that the loop holds,
// and what the strip keeps for itself lies so that its lanes are neighbours.
//
//   i > { P0; j > { P1; Q1 }; jd > V2 }     P1: p[i, j] = f(p[i, j-1])
//   i.o > { <i.i> > P0; j > { <i.i> > P1; <i.i> > Q1 }; jd > <i.i> > V2 }
//   stage p at P1:i.o layout (i, j) [j, i]
//
// Nuzman and Zaks, "Outer-loop vectorization: revisited for short SIMD architectures" (PACT 2008);
// what is kept: Wolf and Lam's contraction of temporaries to what is alive in a strip.
#pragma once

#include <optional>
#include <string>

#include "poly/order_plan.h"

namespace polyte::poly {

// A definition that reads its own tensor at other elements than the one that it makes.
bool waits_for_itself(const ir::Statement& statement);

// The Program's own order: loops of regions around what they hold, each statement with its
// iterators. Coincident are those that hold another region and whose iterations are independent.
OrderTree order_as_written(const ir::Program& program, const schedule::State& reference);

// nullopt where no coincident loop of the tree holds steps of a recurrence, or where rows are more
// than iterators. Nothing is proved.
std::optional<OrderPlan> plan_of_outer_lanes(const ir::Program& program,
                                             const schedule::State& reference,
                                             const std::string& name, const OrderTree& tree,
                                             const Machine& machine);

}  // namespace polyte::poly
