#include "schedule/script/replay.h"

#include <algorithm>

#include "schedule/script/directive_table.h"
#include "schedule/script/explain.h"
#include "schedule/script/hints.h"
#include "schedule/script/holes.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/reuse.h"
#include "schedule/script/script_text.h"
#include "schedule/script/size_expr.h"
#include "schedule/script/tensorized.h"
#include "schedule/script/warpgroups.h"
#include "schedule/state/launches.h"
#include "support/processors.h"
#include "support/stage_log.h"

namespace polyte::schedule {

namespace {

Refusal stale(std::string headline) {
  Refusal refusal = malformed(std::move(headline));
  refusal.kind = RefusalKind::Stale;
  return refusal;
}

std::optional<Refusal> check_header(const Script& script, const ir::Program& program,
                                    const Machine& machine) {
  if (!script.digest.empty()) {
    const std::string digest = ir::digest(program);
    if (digest != script.digest && ir::digest_of_text(program) != script.digest)
      return stale("the script is stale: it is for " + script.program + "@" + script.digest +
                   ", this program is " + program.name + "@" + digest);
  }
  if (!script.program.empty() && script.program != program.name)
    return malformed("the script is for program " + script.program + ", this is " + program.name);
  if (script.target.empty() || script.target == machine.cpu) return std::nullopt;
  const Processor* const processor = find_processor(script.target);
  if (!processor)
    return malformed("the script is for " + script.target +
                     ", a processor whose vectors are not known; this one is " + machine.cpu);
  if (processor->vector_bits != machine.vector_bits)
    return malformed("the script is for " + script.target + " with vectors of " +
                     std::to_string(processor->vector_bits) + " bits, " + machine.cpu + " has " +
                     std::to_string(machine.vector_bits));
  return std::nullopt;
}

std::string place_of(const Directive& directive) {
  const std::string line = directive.line > 0 ? "line " + std::to_string(directive.line) : "a step";
  return directive.file.empty() ? line : line + " of " + directive.file;
}

// The directive in one line: braces for a block, and the beginning of a long one.
std::string in_a_line(const Directive& directive) {
  constexpr std::size_t kMost = 90;
  const std::string text = print(directive);
  if (text.find('\n') != std::string::npos) return "{ .. }";
  return text.size() <= kMost ? text : text.substr(0, text.rfind(' ', kMost)) + " ..";
}

void note_idle(const State& before, const Directive& directive, const State& after,
               const ScriptEnvironment& environment, std::vector<std::string>& notes) {
  // Only lines of a person are worth a note: a scheduler writes the same ones for all sizes, needed
  // or not.
  if (directive.provenance != Provenance::Person) return;
  for (const std::string& note : idle_parts(before, directive, after, environment))
    notes.push_back(place_of(directive) + ": " + in_a_line(directive) + ": " + note);
}

void note_unused(const Script& script, std::vector<std::string>& notes) {
  for (const auto& [line, text] : unused_names(script))
    notes.push_back("line " + std::to_string(line) + ": " + text);
}

State initial_state(std::shared_ptr<const ir::Program> program, const Script& script) {
  State state = reference_state(std::move(program));
  state.contract = script.contract;
  state.reassociable.insert(script.reassociable.begin(), script.reassociable.end());
  return state;
}

// What must hold after every directive, since any of them may break it: a fuse may take away the
// loop of a prefetch, compute_inline the elements that lie in reused memory, a split the nest of an
// instruction.
using AfterCheck = std::optional<Refusal> (*)(const State&, Prover*);
constexpr AfterCheck kAfterChecks[] = {
    [](const State& state, Prover*) { return check_hints(state); },
    [](const State& state, Prover*) { return check_reused(state); },
    [](const State& state, Prover* prover) {
      return prover && !state.reused.empty() ? prover->check_reuse(state) : std::nullopt;
    },
    [](const State& state, Prover*) { return check_tensorized(state); },
};

}  // namespace

ScriptEnvironment initial_environment(const Script& script, const ir::Program& program,
                                      const Machine& machine) {
  ScriptEnvironment environment;
  environment.values = program.sizes;
  environment.values["L"] = machine.lanes(script.dtype);
  environment.values["registers"] = machine.vector_registers;
  environment.values["cores"] = script.threads > 0 ? script.threads : machine.cores;
  // A constraint N + c == 0 of the context fixes the size N = -c, -N + c == 0 fixes N = c.
  for (const ir::Constraint& c : program.context) {
    if (!c.equality || c.expr.terms().size() != 1 || c.expr.terms().front().atom.div) continue;
    const ir::Term& term = c.expr.terms().front();
    if (term.coefficient == 1 || term.coefficient == -1)
      environment.values[term.atom.symbol] = -c.expr.constant() * term.coefficient;
  }
  return environment;
}

// A refusal gets the directive's text here, unless a directive of a block has given its own. A
// State that does not verify is a fault of the primitive, never of the script.
Result<State, Refusal> apply(const State& state, const Directive& directive,
                             ScriptEnvironment& environment, Prover* prover) {
  Applied applied =
      row_of(directive.operation).apply(state, directive.operation, environment, prover);
  if (!applied)
    return applied.error().directive.empty() ? located(applied.error(), directive)
                                             : applied.error();
  for (const AfterCheck check : kAfterChecks)
    if (auto refusal = check(*applied, prover)) return located(*refusal, directive);
  if (const std::vector<std::string> problems = verify(*applied); !problems.empty())
    POLYTE_CHECK(false, "after '" + print(directive) + "': " + join_words(problems));
  return applied;
}

// Cheap checks first: header, holes. Then a directive at a time, and what only the complete
// script can show: launches (kinds are set one by one) and warpgroups. The end-to-end proof
// comes last; under ProofLevel::Directive races are asked for once more, as those over
// recomputed tensors wait for their stage (check_races in primitives/edit.h).
Result<State, Refusal> replay(std::shared_ptr<const ir::Program> program, const Script& script,
                              const Machine& machine, const ReplayOptions& options) {
  if (auto refusal = check_header(script, *program, machine)) return *refusal;
  if (auto refusal = refuse_holes(script)) return *refusal;
  if (options.notes) note_unused(script, *options.notes);
  State state = initial_state(program, script);
  ScriptEnvironment environment = initial_environment(script, *program, machine);
  const State initial = state;
  const ScriptEnvironment at_start = environment;
  std::optional<Prover> prover;
  if (options.proof != ProofLevel::Off) prover.emplace(program);
  const bool step_by_step =
      options.proof == ProofLevel::Directive || options.proof == ProofLevel::Full;
  for (const Directive& directive : script.directives) {
    std::optional<Applied> applied;
    const double milliseconds = milliseconds_of(
        [&] { applied = apply(state, directive, environment, step_by_step ? &*prover : nullptr); });
    if (!*applied)
      return step_by_step
                 ? with_race_advice(applied->error(), state, directive, environment, *prover)
                 : applied->error();
    if (options.notes) note_idle(state, directive, **applied, environment, *options.notes);
    state = std::move(**applied);
    if (options.on_applied) options.on_applied(directive, state, milliseconds);
  }
  if (auto refusal = check_launches(state, machine)) return *refusal;
  if (auto refusal = check_warpgroups(state)) return *refusal;
  if (options.proof == ProofLevel::Directive) {
    if (auto refusal = check_all_races(state, *prover)) return *refusal;
    if (auto refusal = prover->check_owners(state)) return *refusal;
  }
  if (options.proof == ProofLevel::Full || options.proof == ProofLevel::Final)
    if (auto refusal = prover->check_end_to_end(state))
      return explained(*refusal, {initial, at_start}, {state, environment}, script, *prover);
  return state;
}

}  // namespace polyte::schedule
