// A nest of several clusters under the loops that they share, or isl's order as it is: no register
// tile. Sums that each read a row take rows as lanes; the last loop of a definition is in vectors
// where it has stride 1. Where every statement writes and reads along the innermost shared loop,
// vectors of that loop are innermost in all of them, past each reduction, and what only this nest
// reads stays in registers:
//
//   par u > x.o > { <x.i> > s.init; r > <x.i> > s.update; <x.i> > t.init; r > <x.i> > t.update
//                 ; <x.i> > y }
#pragma once

#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

// Of the reference; 1 where it has no constant bounds.
std::int64_t iterations_of(const schedule::State& reference, const ir::Statement& s,
                           const std::string& loop);
struct SharedNest {
  const ir::Program* program = nullptr;
  const schedule::State* reference = nullptr;
  const Machine* machine = nullptr;
  std::vector<BandMember> shared;  // outermost first
  std::vector<const Cluster*> parts;
  bool as_isl_says = false;  // `--scheduler isl`: order and parallel loops only
};

// The innermost shared loop, if its iterations can be the lanes of sums that each read a row:
// squares of these are transposed in registers, and each sum keeps its order. Independent
// iterations may leave each other's way. Empty: none.
std::string turned_lane(const SharedNest& nest);
// Without parameters, so that it is the same whichever nest of the kernel it is.
schedule::NestPlan plan_shared_nest(const SharedNest& nest);

}  // namespace polyte::poly
