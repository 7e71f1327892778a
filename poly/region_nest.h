// Programs with ordered regions on a GPU, in the Program's order: where a loop carries no
// dependence its iterations are threads, and what is around it runs one step after another. A step
// is a launch of its own, which all multiprocessors share, or a turn of one block that runs the
// whole region, whichever is predicted to end sooner.
//
//   k > { D; i > C; i > j > U }
//
// A launch per step, or one launch:
//
//   k > { D; block i.o > thread i.i > C; block point.o > thread point.i > U }
//   block turn.o > turn.i > { D; i.o > thread i.i > C; point.o > thread point.i > U }
#pragma once

#include <vector>

#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

// One plan per nest of the reference; dependences by isl (schedule/proof). `as_isl_says`:
// `--scheduler isl`, which predicts nothing: a launch per step.
std::vector<schedule::NestPlan> plan_regions(const schedule::State& reference,
                                             const Machine& machine, bool as_isl_says);

}  // namespace polyte::poly
