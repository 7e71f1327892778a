// Legality by execution: the loops that a State gives, run in the interpreter on small-integer data, against the
// reference order. Independent of isl and of the prover; decides for one set of sizes only.
#pragma once

#include <vector>

#include "ir/interpret.h"
#include "lower/trace_check.h"
#include "schedule/language/state.h"
#include "support/machine.h"

namespace polyte::driver {

// The loops before the passes, all kinds still there, and after them: instances, where each value comes from, races,
// bounds and outputs (lower/trace_check.h). Empty where nothing differs. Sizes must be bound.
std::vector<lower::TraceFault> faults_by_execution(const schedule::State& state, const Machine& machine,
                                                   const ir::Environment& inputs);

// Interface buffers filled with small integers, the same for every run.
ir::Environment small_integer_environment(const ir::Program& program, std::uint64_t seed);

// The loops of a State run in the interpreter, packing included.
void run_loops(const schedule::State& state, const Machine& machine, ir::Environment& buffers,
               const ir::InterpretOptions& options);

}  // namespace polyte::driver
