// The instances of some statements of a Program as points, the dependences between them as arrows,
// and when a State runs each: what a picture of a small case is drawn from.
#pragma once

#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

struct InstancePoint {
  std::string statement;
  std::vector<std::int64_t> iterators;
  // In the order of the State, from 0 among these; -1: the State does not run it by itself.
  int place = -1;
  int group = 0;  // its tile, or its iteration of the outermost loop; in the order of the State
};

struct InstanceArrow {
  std::size_t from = 0, to = 0;  // points
  // Flow, anti, output; of several between two points the first of these.
  std::string kind;
  bool reduction = false;
};

struct InstancePoints {
  std::vector<InstancePoint> points;
  std::vector<InstanceArrow> arrows;  // direct dependences
};

// Of a State whose sizes are numbers. UserError(ResourceLimit) beyond `most` points.
InstancePoints points_of(const State& state, const std::vector<std::string>& statements,
                         std::size_t most);

}  // namespace polyte::schedule
