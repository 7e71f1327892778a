// The tile of registers in which a product costs least, where its steps run in blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "ir/program.h"
#include "schedule/cost/tile_model.h"
#include "support/machine.h"

namespace polyte::poly {

// Iterators of the sum: rows and lanes of its element, and its steps.
struct ProductLoops {
  std::string row = {}, lane = {}, step = {};
};

struct ProductTile {
  schedule::RegisterTile tile = {};
  double cycles = 0;  // a step of an element
};

// Of the tiles that divide `edge` rows and lanes, at `edge` steps each. `packed`: buffers read from
// a copy in the tile's order. nullopt: none fits into the registers.
std::optional<ProductTile> product_tile(const ir::Program& program, const ir::Statement& sum,
                                        const ProductLoops& loops, std::int64_t edge,
                                        const std::set<std::string>& packed,
                                        const Machine& machine);

}  // namespace polyte::poly
