// cut i at 4:   i > body   ->   i in .. 4 > body, then i in 4 .. > body. One loop of the schedule, two of the program.
// peel i last:  the last iteration by itself, a cut at the last value. `first 2`: the first two.
// The order of the instances stays: nothing to prove. Conditions that a point decides are gone from both parts, and
// `first i`, `par i` or a stage still mean the whole loop.
#include "schedule/language/affine_expr.h"
#include "schedule/language/primitives/remap.h"

namespace polyte::schedule {

namespace {

struct Target {
  const Loop* loop = nullptr;
  std::vector<std::string> owners;
  LoopNames outside;
};

Result<Target, Refusal> target_of(const State& state, const LoopName& name) {
  const auto loop = the_loop(state, name);
  if (!loop) return loop.error();
  Target target{*loop, {}, {}};
  for (const std::string& statement : statements_below(state.tree, (*loop)->id))
    if (!is_pinned(leaf_of(state, statement), (*loop)->name)) target.owners.push_back(statement);
  for (const Loop* above : path_to(state.tree, statements_below(state.tree, (*loop)->id).front())) {
    if (above == *loop) break;
    target.outside.insert(above->name);
  }
  return target;
}

State with_cut(const State& state, const Target& target, const ir::Affine& at) {
  State next = state;
  for (const std::string& statement : statements_below(state.tree, target.loop->id))
    next.cuts.push_back({statement, target.loop->name, at});
  return next;
}

}  // namespace

Applied cut(const State& state, const Cut& directive, const PrimitiveContext& context) {
  const auto target = target_of(state, directive.loop);
  if (!target) return target.error();
  std::vector<std::string> symbols(target->outside.begin(), target->outside.end());
  for (const std::string& param : state.reference->params)
    if (context.environment.values.count(param) == 0) symbols.push_back(param);
  const auto at =
      parse_affine(directive.at.text, symbols, "loops outside " + target->loop->name, context.environment.values);
  if (!at) return malformed(at.error().reason);
  return with_cut(state, *target, *at);
}

Applied peel(const State& state, const Peel& directive, const PrimitiveContext& context) {
  const auto target = target_of(state, directive.loop);
  if (!target) return target.error();
  const auto count = evaluate(directive.count, context, 1);
  if (!count) return count.error();
  if (*count < 1) return malformed("peel takes 1 iteration or more, got " + std::to_string(*count));
  const auto value = value_over(state, target->owners, target->loop->name, target->outside, directive.first);
  if (!value)
    return conservative("the " + std::string(directive.first ? "first " : "last ") + target->loop->name +
                        " is not one affine value of the loops outside: cut it at a point instead");
  return with_cut(state, *target, directive.first ? *value + *count : *value + 1 - *count);
}

}  // namespace polyte::schedule
