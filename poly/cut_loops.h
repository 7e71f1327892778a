// Index-set splitting: a loop of which one iteration reads what all others write, or writes what
// they read, is cut there, and the parts before and after it are independent (Griebl, Feautrier,
// Lengauer, *Index set splitting*).
//
//   path[i, j] = min(path[i, j], path[i, k] + path[k, j])   for all i, j in step k
//   k > { par i.lo > { <j.lo> > ..; j.at > ..; <j.hi> > .. }; i.at > ..; par i.hi > .. }
#pragma once

#include <vector>

#include "poly/order_plan.h"

namespace polyte::poly {

// Ways to cut the innermost loop of a statement of the nest for lanes; first, where threads are
// worth it, with the loop around it cut for these. Empty: the innermost loop has no such iteration,
// or several.
std::vector<std::vector<schedule::PlannedStep>> cuts_of(const ir::Program& program,
                                                        const schedule::NestTree& nest,
                                                        const ir::Statement& statement,
                                                        const OrderPlan::Inner& inner,
                                                        const Machine& machine);

}  // namespace polyte::poly
