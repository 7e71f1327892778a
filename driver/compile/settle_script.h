// A script that a scheduler of ours wrote, replayed. A refused line without which the others still
// say what they said (a copy, a place in memory, a hint) is left out and named; order, tiles and
// loop kinds are the schedule itself: a refusal of one of them is a refusal of the script.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule/script/refused_script.h"
#include "schedule/script/replay.h"

namespace polyte::driver {

// `script` loses the lines that are left out; each is in `left_out`, with the script that still
// had it.
Result<schedule::State, schedule::Refusal> settle_script(
    const std::shared_ptr<const ir::Program>& program, schedule::Script& script,
    const Machine& machine, const schedule::ReplayOptions& options,
    std::vector<schedule::RefusedScript>& left_out);

}  // namespace polyte::driver
