// Registers of warps: operands and results of a GPU's tensor cores lie spread over the 32 lanes
// of a warp, as the instruction prescribes (ir/fragments.h). A script does not mention lanes: a
// point nest that an instruction of a warp computes (`tensorize`) stands in a loop of warps,
//
//   warp w > { m > n > acc.init;  k > m.i > n.i > k.i > acc.update;  m > n > y }
//
// with acc staged in registers. Other statements that touch the accumulator there, tile by tile
// and point by point, run on all lanes, each lane for the points whose registers it holds.
// Iterations of these loops run at the same time and, like those of threads, may touch no
// common element. Lowering spreads them (lower/place_fragments.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

// How often a loop of a statement runs where no size cuts it short: the tile that a split gives it,
// or the constant extent of a loop that is no part of another.
std::optional<std::int64_t> tile_extent(const State& state, const ScheduledStatement& s,
                                        const std::string& loop);

// Loops whose iterations are shared among the lanes of a warp although their kind does not say
// so, each once.
std::vector<LoopId> loops_of_lanes(const State& state);

// What stands in the way: an instruction of a warp outside of warps, an accumulator that is not in
// registers around it, accesses to it that are no tiles of the instruction.
std::vector<std::string> fragment_problems(const State& state);

}  // namespace polyte::schedule
