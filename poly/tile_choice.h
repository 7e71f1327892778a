// The register tile of one statement by cost: which loop carries the lanes, which is unrolled into rows, how large.
// Every pair of loops without carried dependences is priced by what one step of the tile issues: FMAs, loads by how the
// lanes meet memory (broadcast, contiguous, gathered), and stores at the end; the cheapest wins.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/tile_model.h"
#include "support/machine.h"

namespace polyte::poly {

struct TileLoop {
  std::string name;
  std::int64_t extent = 1;
  bool reduction = false;
};

struct TileChoice {
  std::string lane, row;  // empty: none
  schedule::RegisterTile tile;
  double cycles = 0;  // predicted, for the whole statement
};

// `candidates` may carry lanes or rows; `loops` are all loops of the statement below the shared ones.
TileChoice choose_tile(const ir::Program& program, const ir::Statement& statement, const std::vector<TileLoop>& loops,
                       const std::vector<std::string>& candidates, const Machine& machine);

}  // namespace polyte::poly
