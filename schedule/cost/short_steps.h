// Loops of a reduction so short that a processor spends as long on their ends as on their steps:
// the innermost ones are written out.
//
//   for bi in 0..32: for ci in 0..8: tile        for bi in 0..32: tile (8 times)
#pragma once

#include <set>
#include <string>

#include "schedule/cost/tile_choice.h"

namespace polyte::schedule {

// By name, from the innermost one outwards, while the tile's copies stay few.
std::set<std::string> short_steps(const TileQuestion& question, const TileChoice& choice);

}  // namespace polyte::schedule
