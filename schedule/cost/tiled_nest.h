// The nest around a register tile, from the choice of its sizes: parameters, splits and loops, as
// poly has them. Initial value, update and epilogue each have the tile's loops of their own; where
// the reduction runs in blocks, the first begins and the last ends it:
//
//   par n.o > k.o > m.o > { tile > acc.init when first k.o; k.i > tile > acc.update
//                         ; tile > y when last k.o }
//   tile = [m.i] > <n.i>
#pragma once

#include <span>

#include "schedule/cost/threads.h"
#include "schedule/cost/tile_choice.h"
#include "schedule/state/nest_plan.h"

namespace polyte::schedule {

struct TiledNest {
  const TileChoice* choice = nullptr;
  // In order: initial value, update, epilogue; or definitions.
  std::vector<const ir::Statement*> statements;
  const ir::Statement* update = nullptr;  // among them; null: definitions
  TileSize lanes = {};                    // of a tile
  std::int64_t share = 0;                 // lanes of a thread, cut before all else; 0: none
  std::vector<CountedLoop> around = {};   // the loops around the tile, outermost first
  std::string parallel = {};              // that of them which threads share; empty: none
  Provenance order_by = Provenance::TileModel;
};

// The loop of the lanes: of a thread's share where there are shares. Empty: none.
std::string lane_loop(const TileChoice& choice, std::int64_t share);

NestPlan plan_tiled_nest(const TiledNest& nest, int number);

}  // namespace polyte::schedule
