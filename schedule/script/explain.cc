#include "schedule/script/explain.h"

#include <algorithm>

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

// The first `count` directives, structure only; nothing where one of them is refused by itself.
std::optional<State> after(const ScriptPoint& start, const Script& script, std::size_t count) {
  State state = start.state;
  ScriptEnvironment environment = start.environment;
  for (std::size_t i = 0; i < count; ++i) {
    Applied applied = apply(state, script.directives[i], environment, nullptr);
    if (!applied) return std::nullopt;
    state = std::move(*applied);
  }
  return state;
}

// The directive that brought the fault which the script ends with: the fault is there after it and
// not before. Found by bisection, as each look is a proof. A fault that comes and goes on the way
// is found at one of the places where it comes.
template <class HasFault>
const Directive* breaking_directive(const ScriptPoint& start, const Script& script,
                                    const HasFault& has_fault) {
  std::size_t legal = 0, faulty = script.directives.size();
  while (faulty - legal > 1) {
    const std::size_t middle = legal + (faulty - legal) / 2;
    const std::optional<State> state = after(start, script, middle);
    if (!state) return nullptr;
    (has_fault(*state) ? faulty : legal) = middle;
  }
  return faulty == 0 ? nullptr : &script.directives[faulty - 1];
}

// Directives that give each statement which is recomputed storage of its own; only those after
// which the whole schedule is proved legal.
std::vector<std::string> storage_advice(const State& state, ScriptEnvironment environment,
                                        Prover& prover) {
  std::vector<std::string> advice;
  for (const Leaf* leaf : leaves_of(state.tree)) {
    const NestLeaf said = leaf_said(*leaf, state.tree);
    if (said.at.empty()) continue;
    Stage stage;
    stage.tensor = state.at(leaf->statement).body.writes.front().buffer;
    // `stage t at x.o` where that is clear, else `stage t at y:x.o`.
    for (const std::string& owner : {std::string(), leaf->statement}) {
      stage.at = LoopName{owner, said.per.empty() ? said.at : said.per};
      const Directive directive{stage, Provenance::Person, 0};
      const Applied applied = apply(state, directive, environment, nullptr);
      if (!applied || prover.check_end_to_end(*applied)) continue;
      const std::string text = print(directive);
      if (std::ranges::find(advice, text) == advice.end()) advice.push_back(text);
      break;
    }
  }
  return advice;
}

const LoopName* raced_loop(const Directive& directive) {
  if (const Parallel* parallel = std::get_if<Parallel>(&directive.operation))
    return &parallel->loop;
  if (const Vectorize* vectorize = std::get_if<Vectorize>(&directive.operation))
    return &vectorize->loop;
  return nullptr;
}

// Directives that may take the conflict away: a stage, which gives each iteration storage of its
// own, or atomic updates.
std::vector<Operation> race_remedies(const State& state, const Loop& loop, const LoopName& name) {
  std::vector<Operation> remedies;
  Names staged;
  for (const Leaf* leaf : leaves_of(loop.body)) {
    const ScheduledStatement& s = state.at(leaf->statement);
    const std::string& tensor = s.body.writes.front().buffer;
    const ir::Buffer* buffer = state.basis->find_buffer(tensor);
    if (!buffer) continue;
    if (!has(staged, tensor)) {
      Stage stage;
      stage.tensor = tensor;
      stage.at = name;
      remedies.emplace_back(std::move(stage));
      staged.push_back(tensor);
    }
    if (s.kind == StatementKind::Update) remedies.emplace_back(Atomic{{leaf->statement}});
  }
  return remedies;
}

}  // namespace

Refusal located(Refusal refusal, const Directive& directive) {
  refusal.line = directive.line;
  refusal.file = directive.file;
  Directive bare = directive;
  bare.provenance = Provenance::Person;
  refusal.directive = print(bare);
  return refusal;
}

Refusal explained(Refusal refusal, const ScriptPoint& start, const ScriptPoint& end,
                  const Script& script, Prover& prover) {
  // A refusal that knows its line already.
  if (!refusal.directive.empty()) return refusal;
  const auto race = check_all_races(end.state, prover);
  const bool is_race = race && race->headline == refusal.headline;
  if (is_race)
    for (std::string& text : storage_advice(end.state, end.environment, prover))
      refusal.advice.push_back(std::move(text));
  // Races over what is recomputed are judged at the end only: a stage that comes later may
  // settle them.
  const auto has_race = [&](const State& state) {
    return check_all_races(state, prover).has_value();
  };
  const auto has_same = [&](const State& state) {
    const auto found = prover.check_end_to_end(state);
    return found && found->headline == refusal.headline;
  };
  const Directive* directive = is_race ? breaking_directive(start, script, has_race)
                                       : breaking_directive(start, script, has_same);
  return directive ? located(std::move(refusal), *directive) : refusal;
}

Refusal with_race_advice(Refusal refusal, const State& before, const Directive& directive,
                         const ScriptEnvironment& environment, Prover& prover) {
  // Each remedy costs two proofs, of itself and of the refused line behind it.
  constexpr std::size_t kMostProofs = 4;
  const LoopName* name = raced_loop(directive);
  if (!name || refusal.kind != RefusalKind::Illegal || !refusal.advice.empty()) return refusal;
  const auto loop = the_loop(before, *name);
  if (!loop) return refusal;  // a selector of several
  std::vector<Operation> remedies = race_remedies(before, **loop, *name);
  remedies.resize(std::min(remedies.size(), kMostProofs));
  for (Operation& remedy : remedies) {
    ScriptEnvironment values = environment;
    const Directive line{std::move(remedy), Provenance::Person, 0};
    const Applied helped = apply(before, line, values, &prover);
    if (helped && apply(*helped, directive, values, &prover))
      refusal.advice.push_back(print(line) + " on a line before");
  }
  return refusal;
}

}  // namespace polyte::schedule
