// parallel, vectorize, unroll: the kind of one loop. Iterations of a parallel or vector loop must
// not touch a common cell that one of them writes; unrolling changes no order, and proves itself.
#include "schedule/script/primitives/edit.h"
#include "schedule/script/selectors.h"

namespace polyte::schedule {

Applied set_kind(const State& state, const LoopName& name, LoopKind kind,
                 const PrimitiveContext& context) {
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
  if (!ir::is_concurrent(kind)) return next;
  if (auto refusal = check_races(next, below, context)) return *refusal;
  return next;
}

// unroll acc: *.i;  vectorize all: innermost: each loop that the selector matches in the tree
// as it stands, one after the other.
Applied set_kinds(const State& state, const LoopName& name, LoopKind kind,
                  const PrimitiveContext& context) {
  if (!is_selector(name)) return set_kind(state, name, kind, context);
  const auto loops = select_loops(state, name);
  if (!loops) return loops.error();
  State next = state;
  for (const LoopName& loop : *loops) {
    Applied applied = set_kind(next, loop, kind, context);
    if (!applied) {
      Refusal refusal = applied.error();
      refusal.headline = "for " + loop.statement + ":" + loop.loop + ": " + refusal.headline;
      return refusal;
    }
    next = std::move(*applied);
  }
  return next;
}

// unroll i by 4:   i > body   ->   i.o > [i.i] > body
Applied unroll(const State& state, const Unroll& directive, const PrimitiveContext& context) {
  if (directive.by.text.empty())
    return set_kinds(state, directive.loop, LoopKind::Unrolled, context);
  Applied next = split(state, Split{directive.loop, directive.by, false, {}, Tail::Guard}, context);
  if (!next) return next;
  return set_kind(*next, {directive.loop.statement, within_tile(directive.loop.loop)},
                  LoopKind::Unrolled, context);
}

}  // namespace polyte::schedule
