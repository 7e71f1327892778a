#include "schedule/script/replay.h"

#include <algorithm>

#include "schedule/script/effects.h"
#include "schedule/script/explain.h"
#include "schedule/script/hints.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/reuse.h"
#include "schedule/script/script_text.h"
#include "schedule/script/size_expr.h"
#include "schedule/script/tensorized.h"
#include "support/processors.h"
#include "support/stage_log.h"

namespace polyte::schedule {

namespace {

std::optional<Refusal> define(const std::string& name, const std::string& text, ScriptEnvironment& environment) {
  const auto value = evaluate_size(text, environment.values);
  if (!value) return malformed(value.error().reason);
  environment.values[name] = *value;
  return std::nullopt;
}

// One name, one meaning: what a line says is not to depend on how far up one looks.
std::optional<Refusal> check_new(const std::string& name, const ScriptEnvironment& environment) {
  const auto value = environment.values.find(name);
  if (value != environment.values.end())
    return malformed(name + " is known already: it is " + std::to_string(value->second));
  const auto fragment = environment.fragments.find(name);
  if (fragment == environment.fragments.end()) return std::nullopt;
  return malformed(name + " is known already: it is " + fragment->second);
}

std::optional<Refusal> set_param(const SetParam& param, ScriptEnvironment& environment) {
  if (auto refusal = check_new(param.name, environment)) return refusal;
  std::string domain;
  std::vector<std::int64_t> values;
  for (const Size& size : param.domain) {
    const auto value = evaluate_size(size.text, environment.values);
    if (!value) return malformed(value.error().reason);
    values.push_back(*value);
    domain += (domain.empty() ? "{" : ", ") + std::to_string(*value);
  }
  domain += domain.empty() ? "" : "}";
  if (param.value.text == "?")
    return malformed(param.name + " has no value yet: give it one with --param " + param.name + "=VALUE" +
                     (domain.empty() ? "" : ", one of " + domain));
  if (auto refusal = define(param.name, param.value.text, environment)) return refusal;
  const std::int64_t value = environment.values.at(param.name);
  if (values.empty() || std::find(values.begin(), values.end(), value) != values.end()) return std::nullopt;
  return malformed(param.name + " is " + std::to_string(value) + ", not one of " + domain);
}

// The table of primitives. Params, conditions and lets leave the State as it is.
struct Application {
  const State& state;
  ScriptEnvironment& environment;
  PrimitiveContext context;

  Applied unchanged(std::optional<Refusal> refusal) const {
    if (refusal) return *refusal;
    return state;
  }

  Applied operator()(const SetParam& d) const { return unchanged(set_param(d, environment)); }
  Applied operator()(const Let& d) const {
    if (auto refusal = check_new(d.name, environment)) return *refusal;
    if (d.text == "...") return malformed(d.name + " has no value yet: give it one with --param " + d.name + "=PATH");
    if (!is_path_text(d.text)) return unchanged(define(d.name, d.text, environment));
    environment.fragments[d.name] = d.text;
    return state;
  }
  Applied operator()(const Where& d) const {
    const auto holds = evaluate_size(d.condition.text, environment.values);
    if (!holds) return malformed(holds.error().reason);
    if (*holds == 0)
      return malformed("the condition does not hold: " + why_false(d.condition.text, environment.values));
    return state;
  }
  Applied operator()(const Split& d) const { return split(state, d, context); }
  Applied operator()(const Tile& d) const { return tile(state, d, context); }
  Applied operator()(const Reorder& d) const { return reorder(state, d, context); }
  Applied operator()(const Order& d) const { return order(state, d, context); }
  Applied operator()(const Fuse& d) const { return fuse(state, d, context); }
  Applied operator()(const Merge& d) const { return merge(state, d, context); }
  Applied operator()(const Distribute& d) const { return distribute(state, d, context); }
  Applied operator()(const Map& d) const { return map(state, d, context); }
  Applied operator()(const Remap& d) const { return remap(state, d, context); }
  Applied operator()(const Skew& d) const { return skew(state, d, context); }
  Applied operator()(const Shift& d) const { return shift(state, d, context); }
  Applied operator()(const Reverse& d) const { return reverse(state, d, context); }
  Applied operator()(const Rename& d) const { return rename(state, d, context); }
  Applied operator()(const AffineMap& d) const { return affine_map(state, d, context); }
  Applied operator()(const Interchange& d) const { return interchange(state, d, context); }
  Applied operator()(const Wavefront& d) const { return wavefront(state, d, context); }
  Applied operator()(const Unroll& d) const { return unroll(state, d, context); }
  Applied operator()(const UnrollAndJam& d) const { return unroll_and_jam(state, d, context); }
  Applied operator()(const Cut& d) const { return cut(state, d, context); }
  Applied operator()(const Peel& d) const { return peel(state, d, context); }
  Applied operator()(const Vectorize& d) const { return set_kinds(state, d.loop, LoopKind::Vector, context); }
  Applied operator()(const Parallel& d) const { return set_kinds(state, d.loop, LoopKind::Parallel, context); }
  Applied operator()(const ComputeInline& d) const { return compute_inline(state, d, context); }
  Applied operator()(const Rfactor& d) const { return rfactor(state, d, context); }
  Applied operator()(const InlineAll& d) const { return inline_all(state, d, context); }
  Applied operator()(const SplitReduction& d) const { return split_reduction(state, d, context); }
  Applied operator()(const Reassociate& d) const { return reassociate(state, d, context); }
  Applied operator()(const Reciprocal& d) const { return reciprocal(state, d, context); }
  Applied operator()(const Online& d) const { return online(state, d, context); }
  Applied operator()(const Atomic& d) const { return atomic(state, d, context); }
  Applied operator()(const Specialize& d) const { return specialize(d); }
  Applied operator()(const ComputeAt& d) const { return compute_at(state, d, context); }
  Applied operator()(const ComputeRoot& d) const { return compute_root(state, d, context); }
  Applied operator()(const StoreAt& d) const { return store_at(state, d, context); }
  Applied operator()(const ReverseComputeAt& d) const { return reverse_compute_at(state, d, context); }
  Applied operator()(const Place& d) const { return place(state, d, context); }
  Applied operator()(const Nest& d) const { return nest(state, d, context); }
  Applied operator()(const Stage& d) const { return stage(state, d, context); }
  Applied operator()(const FoldStorage& d) const { return fold_storage(state, d, context); }
  Applied operator()(const BoundStorage& d) const { return bound_storage(state, d, context); }
  Applied operator()(const StorageAlign& d) const { return storage_align(state, d, context); }
  Applied operator()(const HoistStorage& d) const { return hoist_storage(state, d, context); }
  Applied operator()(const Reuse& d) const { return reuse(state, d, context); }
  Applied operator()(const SetScope& d) const { return set_scope(state, d, context); }
  Applied operator()(const TransformLayout& d) const { return transform_layout(state, d, context); }
  Applied operator()(const DoubleBuffer& d) const { return double_buffer(state, d, context); }
  Applied operator()(const ComputeWith& d) const { return compute_with(state, d, context); }
  Applied operator()(const Prefetch& d) const { return prefetch(state, d, context); }
  Applied operator()(const StoreNonTemporal& d) const { return stream(state, d, context); }
  Applied operator()(const Pad& d) const { return pad(state, d, context); }
  Applied operator()(const SetTail& d) const { return set_tail(state, d, context); }
  Applied operator()(const Tensorize& d) const { return tensorize(state, d, context); }
  Applied operator()(const Transaction& d) const { return transaction(state, d, context); }

 private:
  // The branch for the sizes at hand. Kernels have constant sizes, so this is decided here and not at run time.
  Applied specialize(const Specialize& d) const {
    const auto holds = evaluate_size(d.condition.text, environment.values);
    if (!holds) return malformed(holds.error().reason);
    State current = state;
    for (const Directive& directive : *holds != 0 ? d.then : d.otherwise) {
      Applied applied = apply(current, directive, environment, context.prover);
      if (!applied) return applied;
      current = std::move(*applied);
    }
    return current;
  }
};

Refusal stale(std::string headline) {
  Refusal refusal = malformed(std::move(headline));
  refusal.kind = RefusalKind::Stale;
  return refusal;
}

std::optional<Refusal> check_header(const Script& script, const ir::Program& program, const Machine& machine) {
  if (!script.digest.empty()) {
    const std::string digest = ir::digest(program);
    if (digest != script.digest && ir::digest_of_text(program) != script.digest)
      return stale("the script is stale: it is for " + script.program + "@" + script.digest + ", this program is " +
                   program.name + "@" + digest);
  }
  if (!script.program.empty() && script.program != program.name)
    return malformed("the script is for program " + script.program + ", this is " + program.name);
  if (script.target.empty() || script.target == machine.cpu) return std::nullopt;
  const Processor* const processor = find_processor(script.target);
  if (!processor)
    return malformed("the script is for " + script.target + ", a processor whose vectors are not known; this one is " +
                     machine.cpu);
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

void note_idle(const State& before, const Directive& directive, const State& after,
               const ScriptEnvironment& environment, std::vector<std::string>& notes) {
  if (directive.provenance != Provenance::Person) return;  // a scheduler's choice, the same for all sizes
  for (const std::string& note : idle_parts(before, directive, after, environment))
    notes.push_back(place_of(directive) + ": " + print(directive) + ": " + note);
}

void note_unused(const Script& script, std::vector<std::string>& notes) {
  for (const auto& [line, text] : unused_names(script)) notes.push_back("line " + std::to_string(line) + ": " + text);
}

State initial_state(std::shared_ptr<const ir::Program> program, const Script& script) {
  State state = reference_state(std::move(program));
  state.contract = script.contract;
  state.reassociable.insert(script.reassociable.begin(), script.reassociable.end());
  return state;
}

}  // namespace

ScriptEnvironment initial_environment(const Script& script, const ir::Program& program, const Machine& machine) {
  ScriptEnvironment environment;
  environment.values = program.sizes;
  environment.values["L"] = machine.lanes(script.dtype);
  environment.values["registers"] = machine.vector_registers;
  environment.values["cores"] = script.threads > 0 ? script.threads : machine.cores;
  for (const ir::Constraint& c : program.context) {  // a size that the context fixes
    if (!c.equality || c.expr.terms().size() != 1 || c.expr.terms().front().atom.div) continue;
    const ir::Term& term = c.expr.terms().front();
    if (term.coefficient == 1 || term.coefficient == -1)
      environment.values[term.atom.symbol] = -c.expr.constant() * term.coefficient;
  }
  return environment;
}

Result<State, Refusal> apply(const State& state, const Directive& directive, ScriptEnvironment& environment,
                             Prover* prover) {
  Applied applied = std::visit(Application{state, environment, {environment, prover}}, directive.operation);
  if (!applied) return applied.error().directive.empty() ? located(applied.error(), directive) : applied.error();
  if (auto refusal = check_hints(*applied)) return located(*refusal, directive);
  if (auto refusal = check_reused(*applied)) return located(*refusal, directive);
  if (prover && !applied->reused.empty())
    if (auto refusal = prover->check_reuse(*applied)) return located(*refusal, directive);
  if (auto refusal = check_tensorized(*applied)) return located(*refusal, directive);
  if (const std::vector<std::string> problems = verify(*applied); !problems.empty())
    POLYTE_CHECK(false, "after '" + print(directive) + "': " + joined(problems));
  return applied;
}

Result<State, Refusal> replay(std::shared_ptr<const ir::Program> program, const Script& script, const Machine& machine,
                              const ReplayOptions& options) {
  if (auto refusal = check_header(script, *program, machine)) return *refusal;
  if (options.notes) note_unused(script, *options.notes);
  State state = initial_state(program, script);
  ScriptEnvironment environment = initial_environment(script, *program, machine);
  const State initial = state;
  const ScriptEnvironment at_start = environment;
  std::optional<Prover> prover;
  if (options.proof != ProofLevel::Off) prover.emplace(program);
  const bool step_by_step = options.proof == ProofLevel::Directive || options.proof == ProofLevel::Full;
  for (const Directive& directive : script.directives) {
    std::optional<Applied> applied;
    const double milliseconds =
        milliseconds_of([&] { applied = apply(state, directive, environment, step_by_step ? &*prover : nullptr); });
    if (!*applied)
      return step_by_step ? with_race_advice(applied->error(), state, directive, environment, *prover)
                          : applied->error();
    if (options.notes) note_idle(state, directive, **applied, environment, *options.notes);
    state = std::move(**applied);
    if (options.on_applied) options.on_applied(directive, state, milliseconds);
  }
  if (options.proof == ProofLevel::Directive)
    if (auto refusal = check_all_races(state, *prover)) return *refusal;
  if (options.proof == ProofLevel::Full || options.proof == ProofLevel::Final)
    if (auto refusal = prover->check_end_to_end(state))
      return explained(*refusal, {initial, at_start}, {state, environment}, script, *prover);
  return state;
}

}  // namespace polyte::schedule
