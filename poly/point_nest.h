// A thread for each point of the loops that a nest shares, as long as no dependence runs between
// them: what a nest without reuse between threads wants, and what is left for any other.
//
//   t > n > h > w > { acc.init; k > acc.update; y }      t carries a dependence, n, h and w do not
//   t > block point.o > thread point.i > { acc.init; k > acc.update; y }      acc in a register
//
// Definitions that read and write side by side have 16 bytes per thread:
//   block point.o > thread point.i > <w.i> > y
#pragma once

#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct PointNest {
  const ir::Program* program = nullptr;
  const schedule::State* reference = nullptr;
  const Machine* machine = nullptr;
  std::vector<BandMember> shared;  // outermost first
  std::vector<const Cluster*> parts;
  int number = 0;            // in its kernel
  bool as_isl_says = false;  // `--scheduler isl`: its order, nothing in registers
  std::string part = {};     // the loop over the parts of a sum (SumNest)
};

// Without steps where every shared loop carries a dependence: it stays on one thread.
schedule::NestPlan plan_point_nest(const PointNest& nest);

}  // namespace polyte::poly
