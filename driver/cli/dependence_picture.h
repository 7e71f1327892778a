// A small case of one or two statements as SVG: instances as points over two or three of their
// loops, direct dependences as arrows, and, where a schedule is given, the order in which it runs
// them: a number in each point, a line from each to the next, a colour per tile.
#pragma once

#include <string>
#include <vector>

#include "schedule/proof/instance_points.h"
#include "schedule/state/state.h"

namespace polyte::cli {

struct PictureOptions {
  std::vector<std::string> statements;  // one or two; none: two that depend on each other
  std::vector<std::string> axes;        // two or three loops, outermost first; none: the first ones
  bool with_order = false;              // of the State
  std::string title;                    // what the order is: "jacobi.sched"
};

// Of a State whose sizes are numbers. UserError(Usage) where a statement or loop is not there,
// ResourceLimit where the case is too large to be seen.
std::string dependence_picture(const schedule::State& state, const PictureOptions& options);

}  // namespace polyte::cli
