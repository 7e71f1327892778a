// Registers of warps: what a GPU's tensor cores take and give lies spread over the 32 lanes, as
// the instruction has it (ir/fragments.h). A script says nothing of lanes: a point nest that an
// instruction of a warp computes (`tensorize`) stands in a loop of warps,
//
//   warp w > { m > n > acc.init;  k > m.i > n.i > k.i > acc.update;  m > n > y }
//
// with acc staged in registers, and what else touches the accumulator there, tile by tile and point
// by point, runs on all lanes, each of which does the points that it has registers of. So the loops
// of such points run at once: iterations of theirs may touch no common element, as those of
// threads. Lowering spreads them (lower/place_fragments.h).
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
