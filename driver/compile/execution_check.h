// Legality by execution: the loops that a State gives, run in the interpreter on small-integer
// data, against the reference order. Independent of isl and of the prover; decides for one
// set of sizes only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/interpret.h"
#include "lower/trace_check.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::driver {

struct ExecutionOptions {
  ir::Values sizes = {};       // of an open State's parameters
  std::int64_t max_steps = 0;  // of each run; 0: no limit, else UserError(ResourceLimit) beyond
  // The State's loops before and after the passes, where they are at hand; null: they are made.
  const ir::LoopProgram* nest = nullptr;
  const ir::LoopProgram* loops = nullptr;
  // Receives outputs of a rewritten Program that roundings decide.
  std::set<std::string>* not_compared = nullptr;
};

// The loops before the passes, all kinds still there, and after them: instances, where each
// value comes from, races, bounds and outputs (lower/trace_check.h); a rewritten Program against
// the reference. Empty where nothing differs. UserError where the reference order itself fails
// on these inputs.
std::vector<lower::TraceFault> faults_by_execution(const schedule::State& state,
                                                   const Machine& machine,
                                                   const ir::Environment& inputs,
                                                   const ExecutionOptions& options = {});

// Interface buffers filled with small integers, the same for every run; what is read as a
// subscript stays inside.
ir::Environment small_integer_environment(const ir::Program& program, std::uint64_t seed);
// The same; where no result is rounded otherwise, half of the floats are numbers whose products
// have to be rounded (the others may be equal to each other), and half of the zeros are -0.
ir::Environment adverse_environment(const ir::Program& program, std::uint64_t seed,
                                    bool keeps_rounding);
// True where sums may change places, or a rewrite computes in another way.
bool schedule_relaxes_rounding(const schedule::State& state);

// The loops of a State run in the interpreter, packing included.
void run_loops(const schedule::State& state, const Machine& machine, ir::Environment& buffers,
               const ir::InterpretOptions& options);

}  // namespace polyte::driver
