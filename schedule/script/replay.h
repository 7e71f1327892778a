// Replay: a Script applied to a Program, directive by directive, each proved as it is applied.
#pragma once

#include <functional>

#include "schedule/proof/prover.h"
#include "schedule/script/script.h"
#include "support/result.h"

namespace polyte::schedule {

enum class ProofLevel {
  Off,        // structure only: for tuning candidates; the winner is proved
  Directive,  // each directive's own obligation
  // The end-to-end criterion on the final State alone: for scripts that a program has written.
  Final,
  Full  // both
};

struct ReplayOptions {
  ProofLevel proof = ProofLevel::Full;
  // May be empty.
  std::function<void(const Directive&, const State&, double milliseconds)> on_applied;
  // Receives a line for each directive, or part of one, that had no effect.
  std::vector<std::string>* notes = nullptr;
};

// Applies one directive. `environment` holds the values of params and lets so far.
struct ScriptEnvironment {
  std::map<std::string, std::int64_t> values;    // params, sizes, L, registers, cores
  std::map<std::string, std::string> fragments;  // let tile = [m.i] > <n.i>
};
ScriptEnvironment initial_environment(const Script& script, const ir::Program& program,
                                      const Machine& machine);
Result<State, Refusal> apply(const State& state, const Directive& directive,
                             ScriptEnvironment& environment,
                             Prover* prover);  // null: structure only

// The State at the end, or the first refusal (with its line). A stale digest is a Stale refusal,
// another program's name or a target whose vector length differs a Malformed one.
Result<State, Refusal> replay(std::shared_ptr<const ir::Program> program, const Script& script,
                              const Machine& machine, const ReplayOptions& options);

// The same schedule, each step a classic directive (a nest as its order, place, merge and kinds).
Script expand_to_directives(const Script& script);

}  // namespace polyte::schedule
