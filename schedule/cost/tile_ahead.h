// Operands that a register tile is to be fetched ahead for: they come from beyond the second
// cache in rows so short that no prefetcher of the processor follows them, a window of an image
// row by row:
//
//   c > i.o > j.o > { r > s > tile of i, j }   x[c, 2*i + r, 2*j + s]: at j.o, rows of i.o some
//                                              iterations later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/traffic.h"
#include "support/machine.h"

namespace polyte::schedule {

// Steps of a sum over a window, at most: behind more, its lines come in time in any order.
constexpr std::int64_t kWindowSteps = 64;

struct TileAhead {
  std::string operand;
  // Loops around the tile, by number: where it is fetched, whose iterations count.
  std::size_t at = 0, along = 0;
  std::int64_t distance = 1;
};

// The reads of each step that come so, where the whole nest takes so many cycles; each buffer once.
std::vector<TileAhead> operands_ahead(const NestAccesses& nest, const TileLoops& tile,
                                      double cycles, const Machine& machine);

// What a tile loses to reading them in many rows at a time, in cycles of the whole nest.
double cycles_of_rows(const NestAccesses& nest, const TileLoops& tile, const Machine& machine);

}  // namespace polyte::schedule
