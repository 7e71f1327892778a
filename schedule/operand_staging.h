// Which operands of a tiled reduction want a copy of their own, and the `stage` lines that make it: a padded copy of
// a guarded input, panels of a packed operand. Mechanism and formula shared by the templates and by poly.
//
//   w[k, n], lane n, Nr = 32      stage w layout (k, n) [n//Nr, k, n%Nr] when compile
//   x[c, h+r, w+s] else 0         stage x
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/tile_model.h"

namespace polyte::schedule {

struct TiledReduction {
  const ir::Program* program = nullptr;
  const ir::Statement* update = nullptr;
  std::string lane, row;            // iterators; empty: none
  std::string lane_size, row_size;  // as the script writes them, "Nr", "Mr"
  RegisterTile tile;
  std::int64_t lane_trips = 1, row_trips = 1;  // tiles in each direction
  std::int64_t steps = 1;                      // of the whole reduction
  std::map<std::string, std::int64_t> others;  // extents of the free loops besides lane and row
};

// False where its elements are written at some iterations only, known when it runs, or are read with a guard besides.
bool can_stage_accumulator(const ir::Program& program, const ir::Statement& update, bool for_whole_kernel);

// The lines, in order of the operands' appearance.
std::vector<std::string> operand_stages(const TiledReduction& reduction, const Machine& machine);

}  // namespace polyte::schedule
