#include "schedule/language/replay.h"

#include <algorithm>
#include <chrono>

#include "schedule/language/primitives/edit.h"
#include "schedule/language/script_text.h"
#include "schedule/language/size_expr.h"

namespace polyte::schedule {

namespace {

std::optional<Refusal> define(const std::string& name, const std::string& text, ScriptEnvironment& environment) {
  const auto value = evaluate_size(text, environment.values);
  if (!value) return malformed(value.error().reason);
  environment.values[name] = *value;
  return std::nullopt;
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

  Applied operator()(const SetParam& d) const { return unchanged(define(d.name, d.value.text, environment)); }
  Applied operator()(const Let& d) const {
    if (!is_path_text(d.text)) return unchanged(define(d.name, d.text, environment));
    environment.fragments[d.name] = d.text;
    return state;
  }
  Applied operator()(const Where& d) const {
    const auto holds = evaluate_size(d.condition.text, environment.values);
    if (!holds) return malformed(holds.error().reason);
    if (*holds == 0) return malformed("the condition does not hold: " + values_in(d.condition.text));
    return state;
  }
  Applied operator()(const Split& d) const { return split(state, d, context); }
  Applied operator()(const Tile& d) const { return tile(state, d, context); }
  Applied operator()(const Reorder& d) const { return reorder(state, d, context); }
  Applied operator()(const Order& d) const { return order(state, d, context); }
  Applied operator()(const Fuse& d) const { return fuse(state, d, context); }
  Applied operator()(const Merge& d) const { return merge(state, d, context); }
  Applied operator()(const Distribute& d) const { return distribute(state, d, context); }
  Applied operator()(const Unroll& d) const { return set_kind(state, d.loop, LoopKind::Unrolled, context); }
  Applied operator()(const Vectorize& d) const { return set_kind(state, d.loop, LoopKind::Vector, context); }
  Applied operator()(const Parallel& d) const { return set_kind(state, d.loop, LoopKind::Parallel, context); }
  Applied operator()(const ComputeInline& d) const { return compute_inline(state, d, context); }
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
  Applied operator()(const SetScope& d) const { return set_scope(state, d, context); }
  Applied operator()(const TransformLayout& d) const { return transform_layout(state, d, context); }
  Applied operator()(const DoubleBuffer& d) const { return double_buffer(state, d, context); }
  Applied operator()(const ComputeWith& d) const { return compute_with(state, d, context); }
  Applied operator()(const Transaction& d) const { return transaction(state, d, context); }

 private:
  std::string values_in(const std::string& text) const {
    std::string known;
    for (const auto& [name, value] : environment.values)
      if (text.find(name) != std::string::npos)
        known += (known.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    return known;
  }
};

// Vector bits of the CPUs by LLVM's names; nullopt for one that is not listed.
std::optional<int> vector_bits_of(const std::string& cpu) {
  static const std::map<std::string, int> kBits = {
      {"x86-64", 128},         {"x86-64-v2", 128},      {"x86-64-v3", 256},     {"x86-64-v4", 512},
      {"haswell", 256},        {"broadwell", 256},      {"skylake", 256},       {"alderlake", 256},
      {"skylake-avx512", 512}, {"cascadelake", 512},    {"cooperlake", 512},    {"icelake-client", 512},
      {"icelake-server", 512}, {"sapphirerapids", 512}, {"emeraldrapids", 512}, {"graniterapids", 512},
      {"znver1", 256},         {"znver2", 256},         {"znver3", 256},        {"znver4", 512},
      {"znver5", 512}};
  const auto found = kBits.find(cpu);
  if (found == kBits.end()) return std::nullopt;
  return found->second;
}

std::optional<Refusal> check_header(const Script& script, const ir::Program& program, const Machine& machine) {
  if (!script.program.empty() && script.program != program.name)
    return malformed("the script is for program " + script.program + ", this is " + program.name);
  if (!script.digest.empty()) {
    const std::string digest = ir::digest(program);
    if (digest != script.digest)
      return malformed("the script is for " + script.program + "@" + script.digest + ", this program is " +
                       program.name + "@" + digest + ": it has changed since");
  }
  if (script.target.empty() || script.target == machine.cpu) return std::nullopt;
  const auto bits = vector_bits_of(script.target);
  if (!bits)
    return malformed("the script is for " + script.target + ", a processor whose vectors are not known; this one is " +
                     machine.cpu);
  if (*bits != machine.vector_bits)
    return malformed("the script is for " + script.target + " with vectors of " + std::to_string(*bits) + " bits, " +
                     machine.cpu + " has " + std::to_string(machine.vector_bits));
  return std::nullopt;
}

Refusal located(Refusal refusal, const Directive& directive) {
  refusal.line = directive.line;
  Directive bare = directive;
  bare.provenance = Provenance::Person;
  refusal.directive = print(bare);
  return refusal;
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
  environment.values["L"] = machine.lanes(script.dtype);
  environment.values["registers"] = machine.vector_registers;
  environment.values["cores"] = machine.cores;
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
  if (!applied) return located(applied.error(), directive);
  if (const std::vector<std::string> problems = verify(*applied); !problems.empty())
    POLYTE_CHECK(false, "after '" + print(directive) + "': " + joined(problems));
  return applied;
}

Result<State, Refusal> replay(std::shared_ptr<const ir::Program> program, const Script& script, const Machine& machine,
                              const ReplayOptions& options) {
  if (auto refusal = check_header(script, *program, machine)) return *refusal;
  State state = initial_state(program, script);
  ScriptEnvironment environment = initial_environment(script, *program, machine);
  std::optional<Prover> prover;
  if (options.proof != ProofLevel::Off) prover.emplace(program);
  const bool step_by_step = options.proof == ProofLevel::Directive || options.proof == ProofLevel::Full;
  for (const Directive& directive : script.directives) {
    const auto start = std::chrono::steady_clock::now();
    Applied applied = apply(state, directive, environment, step_by_step ? &*prover : nullptr);
    if (!applied) return applied.error();
    state = std::move(*applied);
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    if (options.on_applied) options.on_applied(directive, state, spent.count());
  }
  if (options.proof == ProofLevel::Directive)
    if (auto refusal = check_all_races(state, *prover)) return *refusal;
  if (options.proof == ProofLevel::Full || options.proof == ProofLevel::Final)
    if (auto refusal = prover->check_end_to_end(state)) return *refusal;
  return state;
}

}  // namespace polyte::schedule
