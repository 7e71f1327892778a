// parallel, vectorize, unroll: the kind of one loop. Iterations of a parallel or vector loop must not touch a common
// cell that one of them writes; unrolling proves itself.
#include "schedule/language/primitives/edit.h"

namespace polyte::schedule {

Applied set_kind(const State& state, const LoopName& name, LoopKind kind, const PrimitiveContext& context) {
  const auto loop = the_loop(state, name);
  if (!loop) return loop.error();
  State next = state;
  const std::vector<std::string> below = statements_below(state.tree, (*loop)->id);
  next.tree = replace_loop(state.tree, (*loop)->id, [&](const Loop& old) {
    Loop rebuilt = old;
    rebuilt.kind = kind;
    return make_loop(std::move(rebuilt));
  });
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_races(next, below, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
