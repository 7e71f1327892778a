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

// Blocks of steps leave what precedes the sum in its first block and what follows it in its last.
// These are one iteration for all rows of a tile unless later ones have steps further out:
//
//   for k in 0..i:    whether the sums of rows 0..29 end in block 0 or 1 differs with the row
bool ends_move(const TileQuestion& question, const NestAccesses& nest, const TileLoopNumbers& tile);

}  // namespace polyte::schedule
