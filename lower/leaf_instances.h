// The leaves of a State's tree with what must hold where each runs: constraints over the loops
// above, and their projections onto the outermost d of these loops (ir/affine_system.h), from which
// loops take their bounds.
#pragma once

#include <string>
#include <vector>

#include "ir/affine_system.h"
#include "schedule/state/state.h"

namespace polyte::lower {

struct LeafInstance {
  const schedule::ScheduledStatement* statement = nullptr;
  const schedule::Leaf* leaf = nullptr;
  std::vector<std::string> path;         // loops above, outermost first
  std::vector<ir::System> projections;   // [d]: over the loops path[0..d)
  std::vector<ir::Constraint> required;  // not yet guaranteed by loops or guards around
};

LeafInstance instance_of(const schedule::State& state, const schedule::Leaf& leaf);

}  // namespace polyte::lower
