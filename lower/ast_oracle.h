// An oracle for build_loops: isl generates code for the order that a State says, both are run at
// the State's sizes, and the instances must be the same ones in the same order. isl has the domains
// and the time of each statement (rows and places in sequences), and nothing of our elimination,
// guards, tails or copies of loops.
//
//   order_difference(state, lower_to_nest(state), inputs)   // "" or "store 17 is S(2, 1) -> .."
//
// Not compared: statements under a run-time guard, elements whose subscript is read at run time,
// instructions of the catalogue (a State with one is taken as equal). Sizes must be bound. 5 to 50
// ms: for tests and fuzzing.
#pragma once

#include <string>

#include "ir/interpret.h"
#include "ir/loop_program.h"
#include "schedule/state/state.h"

namespace polyte::lower {

// `buffers` hold the inputs and what was packed at compile time.
std::string order_difference(const schedule::State& state, const ir::LoopProgram& nest,
                             ir::Environment buffers);

}  // namespace polyte::lower
