#include <algorithm>
#include <set>

#include "driver/judge/fuzz/propose.h"
#include "schedule/script/replay.h"
#include "schedule/script/tensorized.h"
#include "schedule/state/divisions.h"
#include "schedule/state/softmax_sum.h"

namespace polyte::fuzz::propose {

using namespace schedule;

namespace {

std::vector<Directive> directives(Scene& scene) { return {{split(scene), Provenance::Person, 0}}; }

// Then the tensor alone does not say which sum is meant.
bool several_update(const Scene& scene, const std::string& tensor) {
  return std::ranges::count_if(scene.state.basis->statements, [&](const ir::Statement& s) {
           return s.combiner != ir::Combiner::None && s.writes.front().buffer == tensor;
         }) > 1;
}

// Parts of values that are more than an element, in terms of their own iterators; now and then of
// one too few or too many.
std::vector<Operation> precomputed(Scene& scene) {
  std::vector<Operation> fitting;
  for (const ir::Statement& s : scene.state.basis->statements) {
    if (!scene.state.find(s.name)) continue;
    const auto look = [&](const ir::Expr& part) -> ir::Expr {
      if (std::holds_alternative<ir::Load>(part->op) || ir::loads_of(part).empty()) return nullptr;
      const std::set<std::string> symbols = ir::symbols_of(part);
      std::vector<std::string> iterators;
      for (const std::string& it : s.iterators)
        if (symbols.contains(it) != scene.random.chance(3)) iterators.push_back(it);
      const std::string tensor = "early" + std::to_string(scene.random.between(0, 5));
      fitting.emplace_back(Precompute{s.name, tensor, iterators, ir::to_string(part)});
      return nullptr;
    };
    for (const ir::Expr& value : s.values) ir::replace(value, look);
  }
  return fitting;
}

}  // namespace

// A rewrite of a reduction, most often over a loop that it has.
Operation algebra(Scene& scene) {
  std::vector<std::string> updates;
  for (const std::string& name : scene.statements)
    if (scene.state.at(name).kind == StatementKind::Update) updates.push_back(name);
  const std::string update =
      updates.empty() || scene.random.chance(5) ? scene.statement() : scene.random.pick(updates);
  const std::string tensor = scene.state.find(update) ? scene.written_by(update) : update;
  std::vector<std::string> loops = scene.loops_of(update);
  const std::string loop =
      scene.nonsense(scene.random.chance(60) ? loops.back() : scene.random.pick(loops));
  const std::int64_t number = scene.random.between(0, 5);
  const std::string parts = "part" + std::to_string(number);
  const std::string summed = number == 0 || several_update(scene, tensor) ? update : tensor;
  const int form = scene.random.between(0, 9);
  if (form == 6)
    if (const std::vector<Operation> fitting = precomputed(scene); !fitting.empty())
      return scene.random.pick(fitting);
  switch (form) {
    case 0:
      return SplitReduction{summed, loop, scene.factor(), parts,
                            scene.random.pick(std::vector<SplitReduction::Form>{
                                SplitReduction::Form::Interleaved, SplitReduction::Form::Blocks,
                                SplitReduction::Form::Halves})};
    case 2:
    case 3:
      return Atomic{{update}};
    case 4:
      return InlineAll{};
    case 5:
      return Specialize{
          {scene.random.chance(50) ? "L > 2" : "F1 > 3"}, directives(scene), directives(scene)};
    default:
      return Rfactor{summed, {scene.random.chance(50) ? update : "", loop}, parts};
  }
}

// The order of one tensor's updates along one of their reduction loops.
Operation reassociated(Scene& scene) {
  std::vector<Operation> fitting;
  for (const ir::Statement& s : scene.state.basis->statements)
    for (const std::string& iterator : s.reductions)
      if (s.combiner != ir::Combiner::None) {
        const std::string& tensor = s.writes.front().buffer;
        fitting.emplace_back(
            Reassociate{several_update(scene, tensor) ? s.name : tensor, {iterator}});
      }
  return fitting.empty() ? Operation{Reassociate{scene.tensor(), {"k"}}}
                         : scene.random.pick(fitting);
}

// Statements that divide by the same number again and again.
std::vector<Operation> reciprocals(Scene& scene) {
  std::vector<Operation> fitting;
  for (const std::string& name : scene.statements) {
    if (scene.state.at(name).reference.empty()) continue;
    const ir::Statement& s = scene.state.basis->statement(scene.state.at(name).reference);
    const std::vector<ir::Expr> divisions = divisions_of(s);
    if (std::ranges::any_of(divisions,
                            [&](const ir::Expr& d) { return why_not_shared(s, d).empty(); }))
      fitting.emplace_back(Reciprocal{name});
  }
  return fitting;
}

// Sums whose terms have a divisor in common.
std::vector<Operation> deferrals(Scene& scene) {
  std::vector<Operation> fitting;
  for (const ir::Statement& s : scene.state.basis->statements)
    if (common_divisor(s) || defined_quotient(*scene.state.basis, s))
      fitting.emplace_back(DeferDivision{s.writes.front().buffer,
                                         "whole" + std::to_string(scene.random.between(0, 5))});
  return fitting;
}

// Maxima along with all sums that name them.
std::vector<Operation> online(Scene& scene) {
  std::vector<Operation> fitting;
  for (const std::string& name : scene.statements) {
    const ScheduledStatement& s = scene.state.at(name);
    if (s.body.combiner != ir::Combiner::Max || s.reference.empty() ||
        !is_float(s.body.values.front()->type))
      continue;
    const std::string maximum = s.body.writes.front().buffer;
    std::vector<std::string> sums;
    const auto weights = softmax_weights(*scene.state.basis, maximum);
    for (const ir::Statement& sum : scene.state.basis->statements)
      if (softmax_sum(with_weights(sum, weights), maximum))
        sums.push_back(sum.writes.front().buffer);
    if (sums.empty()) continue;
    for (const Loop* loop : path_to(scene.state.tree, name))
      fitting.emplace_back(Online{sums, maximum, {"", loop->name}});
  }
  return fitting;
}

// Instructions of this processor that the nests below some loops are.
// "Fits" is what the primitive itself asks: the machine has the instruction, and the nest below the
// loop differs in nothing from what the instruction computes.
std::vector<Operation> tensorized(Scene& scene) {
  std::vector<Operation> fitting;
  for (const std::string& statement : scene.statements) {
    const std::vector<const Loop*> path = path_to(scene.state.tree, statement);
    for (std::size_t inner = 1; inner <= std::min<std::size_t>(path.size(), 2); ++inner) {
      const Loop& loop = *path[path.size() - inner];
      const auto nest = point_nest(scene.state, loop);
      if (!nest) break;
      for (const ir::Intrinsic& row : ir::intrinsics())
        if (ir::missing_for(row, scene.machine).empty() && !difference(scene.state, row, *nest))
          fitting.push_back(Tensorize{{statement, loop.name}, row.name});
    }
  }
  return fitting;
}

// Splits after which an instruction fits, found by trying them.
std::vector<Operation> tiles(Scene& scene) {
  std::vector<Operation> splits;
  ScriptEnvironment environment;
  for (const std::string& statement : scene.statements) {
    for (const Loop* loop : path_to(scene.state.tree, statement)) {
      for (const char* factor : {"2", "4", "8"}) {
        const Split split{{statement, loop->name}, {factor}, false, {}, Tail::Guard};
        const auto next = apply(scene.state, {split, Provenance::Person, 0}, environment, nullptr);
        if (!next) continue;
        Scene after(*next, scene.machine, scene.random);
        if (!tensorized(after).empty()) splits.emplace_back(split);
      }
    }
  }
  return splits;
}

}  // namespace polyte::fuzz::propose
