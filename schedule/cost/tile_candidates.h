// The register tiles worth pricing further: for each pair of lane and row loops and each set of
// operands in panels the best heights of each width, cheapest first by their steps and copies.
// Where a row loop is short, a second one joins.
#pragma once

#include <vector>

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/step_cost.h"
#include "schedule/cost/tile_choice.h"
#include "support/machine.h"

namespace polyte::schedule {

struct TileCandidate {
  TileLoopNumbers at;
  RegisterTile tile;
  double cycles = 0;  // of the steps
  double copies = 0;  // of the panels, before them
  double together() const { return cycles + copies; }
};

std::vector<TileCandidate> cheapest_tiles(const TileQuestion& question, const NestAccesses& nest,
                                          const Machine& machine);

}  // namespace polyte::schedule
