#include "driver/judge/fuzz/random_script.h"

#include <algorithm>

#include "driver/judge/fuzz/propose.h"
#include "driver/judge/fuzz/random_nest.h"
#include "ir/intrinsics.h"
#include "schedule/script/warpgroups.h"
#include "schedule/state/launches.h"

namespace polyte::fuzz {
namespace {

using namespace schedule;

// One of those that fit, at times.
std::optional<Operation> one_of(Scene& scene, const std::vector<Operation>& fitting, int percent) {
  if (fitting.empty() || !scene.random.chance(percent)) return std::nullopt;
  return scene.random.pick(fitting);
}

// Rare chances come first: what fits only some States is asked before the common kinds, which would
// leave it no room.
Operation any_operation(Scene& scene) {
  if (const auto found = one_of(scene, propose::online(scene), 30)) return *found;
  if (const auto found = one_of(scene, propose::reciprocals(scene), 20)) return *found;
  if (const auto found = one_of(scene, propose::deferrals(scene), 20)) return *found;
  if (const auto found = one_of(scene, propose::views(scene), 40)) return *found;
  if (!scene.state.staged.empty() && scene.random.chance(9)) return propose::storage(scene);
  if (const std::vector<std::string> tiled = scene.tiled_loops();
      !scene.state.staged.empty() && !tiled.empty() && scene.random.chance(4))
    return SetTail{{"", scene.random.pick(tiled)}, Tail::Round};
  if (scene.random.chance(2)) return propose::reuse(scene);
  if (scene.random.chance(2)) return propose::reassociated(scene);
  if (const auto found = one_of(scene, propose::recomputed(scene), 12)) return *found;
  if (scene.random.chance(30))
    if (const std::vector<Operation> fitting = propose::tensorized(scene); !fitting.empty())
      return scene.random.pick(fitting);
  if (scene.random.chance(5))
    if (const std::vector<Operation> first = propose::tiles(scene); !first.empty())
      return scene.random.pick(first);
  if (scene.random.chance(1))
    return Tensorize{scene.loop_name(), scene.random.pick(ir::intrinsics()).name};
  if (scene.random.chance(18)) return propose::mapped(scene);
  if (scene.random.chance(9)) return propose::algebra(scene);
  const int form = scene.random.between(0, 99);
  if (form < 22) return propose::split(scene);
  if (form < 26) return propose::tile(scene);
  if (form < 32)
    return Reorder{scene.random.chance(85) ? scene.statement() : "", scene.some_loops()};
  if (form < 35) return propose::order(scene);
  if (form < 39) return propose::fuse(scene);
  if (form < 43) return propose::merge(scene);
  if (form < 44)
    return ComputeWith{scene.statement(), scene.statement(),
                       scene.random.pick(scene.loops_of(scene.random.pick(scene.statements)))};
  if (form < 46) return propose::distribute(scene);
  if (form < 51) return propose::unroll(scene);
  if (form < 57) return Vectorize{scene.loop_names()};
  if (form < 63 && scene.machine.gpu) return propose::split(scene);  // bound at the end
  if (form < 63) return Parallel{scene.loop_names()};
  if (form < 66) return ComputeInline{scene.random.chance(85) ? scene.temporary() : scene.tensor()};
  if (form < 71) return propose::compute_at(scene);
  if (form < 72) return ComputeRoot{scene.temporary()};
  if (form < 73) return propose::store_at(scene);
  if (form < 75) return propose::reverse_compute_at(scene);
  if (form < 78) return propose::place(scene);
  if (form < 86) return Nest{"", random_nest(scene.state, scene.random)};
  if (form < 88) return propose::as_transaction({"", random_nest(scene.state, scene.random)});
  if (form < 90) return propose::hint_or_tail(scene);
  if (form < 92) return propose::compute_at(scene);
  return propose::stage(scene);
}

std::vector<Operation> opening(Random& random) {
  std::vector<Operation> result = {SetParam{"F1", {std::to_string(random.between(1, 6))}}};
  if (random.chance(10)) result.push_back(Where{{"F1 * 2 >= F1"}});
  if (random.chance(10)) result.push_back(Let{"F2", "F1 + 1"});
  return result;
}

// All loops of reductions, or all but one of the first two: what is not in the contract has to
// be refused.
void let_reassociate(Script& script, const ir::Program& program, Random& random) {
  script.contract = Contract::Reassoc;
  for (const ir::Statement& s : program.statements)
    for (const std::string& iterator : s.reductions)
      if (std::ranges::find(script.reassociable, iterator) == script.reassociable.end())
        script.reassociable.push_back(iterator);
  if (script.reassociable.empty()) script.reassociable = {"k"};
  if (script.reassociable.size() > 1 && random.chance(30))
    script.reassociable.erase(script.reassociable.begin() + random.between(0, 1));
}

// Its header, and what it begins with.
Script begun(const ir::Program& program, bool reassociate, Random& random) {
  Script script;
  script.name = "random/1";
  script.program = program.name;
  script.digest = ir::digest(program);
  script.dtype = program.buffers.front().dtype;
  if (reassociate && random.chance(is_float(script.dtype) ? 60 : 30))
    let_reassociate(script, program, random);
  for (const Operation& operation : opening(random))
    script.directives.push_back({operation, Provenance::Person, 0});
  return script;
}

// First word of the directive's text, "split"; both of a rewrite.
std::string name_of(const Operation& operation) {
  if (std::holds_alternative<Transaction>(operation)) return "transaction";
  const std::string text = print(Directive{operation, Provenance::Person, 0});
  const std::size_t space = text.find(' ');
  return text.substr(0, text.starts_with("rewrite ") ? text.find(' ', space + 1) : space);
}

// Of what is refused some stays in the script, on purpose: whether a fault is there is then seen by
// executing it.
bool is_kept(RefusalKind kind, Random& random) {
  return random.chance(kind == RefusalKind::Illegal ? 14 : kind == RefusalKind::Malformed ? 1 : 3);
}

// A script and the State that it makes.
struct DeviceScript {
  const Script& script;
  const State& state;
  const ScriptEnvironment& environment;
  Prover& prover;
};

// The script with loops bound to a GPU: what is illegal is left out, most of the time. None where
// it does not nest as a GPU has it, most of the time.
// Loops are bound behind all other lines: a script for a GPU is one for a CPU with bindings behind
// it.
std::optional<Script> bound_to_device(const DeviceScript& device, const Machine& machine,
                                      Random& random) {
  Script script = device.script;
  State state = device.state;
  ScriptEnvironment environment = device.environment;
  Scene scene(state, machine, random);
  for (const Operation& operation : propose::device(scene)) {
    const Directive directive{operation, Provenance::Person, 0};
    auto applied = apply(state, directive, environment, &device.prover);
    if (!applied && !is_kept(applied.error().kind, random)) continue;
    script.directives.push_back(directive);
    if (!applied) applied = apply(state, directive, environment, nullptr);
    if (!applied) return script;
    state = *applied;
  }
  const bool nests = !check_launches(state, machine) && !check_warpgroups(state);
  return nests || random.chance(5) ? std::optional(script) : std::nullopt;
}

}  // namespace

Script random_script(std::shared_ptr<const ir::Program> program, const Machine& machine,
                     bool reassociate, Random& random, ScriptStatistics& statistics) {
  Script script = begun(*program, reassociate, random);
  ScriptEnvironment environment = initial_environment(script, *program, machine);
  State state = reference_state(program);
  state.contract = script.contract;
  state.reassociable.insert(script.reassociable.begin(), script.reassociable.end());
  for (const Directive& d : script.directives) (void)apply(state, d, environment, nullptr);
  Prover prover(program);
  const std::size_t wanted =
      script.directives.size() + static_cast<std::size_t>(random.between(1, 11));
  std::vector<Operation> recipe;  // what comes first
  if (random.chance(4)) {
    Scene scene(state, machine, random);
    recipe = propose::recipe(scene);
  }
  std::size_t made = 0;
  // One script of five moves values, and then tries one order after the other.
  const bool tries_orders = random.chance(20);
  const std::size_t first_order =
      script.directives.size() + static_cast<std::size_t>(random.between(1, 2));
  const auto next = [&]() -> Operation {
    Scene scene(state, machine, random);
    if (made < recipe.size()) return recipe[made++];
    if (!tries_orders || random.chance(20)) return any_operation(scene);
    return script.directives.size() < first_order ? propose::relocation(scene)
                                                  : propose::another_order(scene);
  };
  for (int attempt = 0;
       attempt < 30 && script.directives.size() < std::min<std::size_t>(wanted, 12); ++attempt) {
    const Directive directive{next(), Provenance::Person, 0};
    // Other bits are right too.
    if (!reassociate && std::holds_alternative<Reassociate>(directive.operation)) continue;
    const std::string name = name_of(directive.operation);
    ++statistics.proposed[name];
    try {
      auto applied = apply(state, directive, environment, &prover);
      const bool is_legal = static_cast<bool>(applied);
      if (is_legal) ++statistics.applied[name];
      if (!is_legal && !is_kept(applied.error().kind, random)) continue;
      script.directives.push_back(directive);
      // Once more without a proof, so that what follows is drawn for the State that the line makes.
      if (!is_legal) applied = apply(state, directive, environment, nullptr);
      if (!applied) break;
      state = *applied;
    } catch (const std::exception&) {
      script.directives.push_back(directive);
      break;
    }
  }
  if (machine.gpu) {
    const DeviceScript device{script, state, environment, prover};
    if (auto bound = bound_to_device(device, machine, random)) return *std::move(bound);
  }
  return script;
}

}  // namespace polyte::fuzz
