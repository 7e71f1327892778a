// unroll_and_jam i by 4:   i > { A; j > B }   ->   i.o > { [i.i] > A; j > [i.i] > B }
// A split whose inner loop goes inside all loops below, once per statement, and is unrolled
// there: what iterations of i share in one iteration of j is loaded once. The order changes,
// and is proved.
#include <algorithm>

#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

namespace {

// The tree with the inner loop around each leaf that owns it, in place of around all of them.
Tree jammed(State& state, const Tree& tree, const Loop& inner, bool& first) {
  if (const Leaf* leaf = std::get_if<Leaf>(&tree->op)) {
    if (is_pinned(*leaf, inner)) return tree;
    Loop own = inner;
    if (!first) own.id = state.fresh_loop();
    first = false;
    own.body = with_other_loops(tree, {{inner.id, own.id}});
    return make_loop(std::move(own));
  }
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    Loop rebuilt = *loop;
    rebuilt.body = jammed(state, loop->body, inner, first);
    return make_loop(std::move(rebuilt));
  }
  std::vector<Tree> children;
  for (const Tree& child : std::get<Sequence>(tree->op).children)
    children.push_back(jammed(state, child, inner, first));
  return make_sequence(std::move(children));
}

}  // namespace

Applied unroll_and_jam(const State& state, const UnrollAndJam& directive,
                       const PrimitiveContext& context) {
  const auto loop = the_loop(state, directive.loop);
  if (!loop) return loop.error();
  const std::vector<std::string> below = statements_below(state.tree, (*loop)->id);
  if (std::holds_alternative<Leaf>((*loop)->body->op))
    return malformed((*loop)->name + " holds no loop to jam into: unroll " + (*loop)->name +
                     " by " + directive.by.text);
  for (const std::string& statement : below)
    if (is_pinned(leaf_of(state, statement), **loop))
      return malformed(statement + " is placed in an iteration of " + (*loop)->name +
                       ": place comes after");
  for (const StagedBuffer& buffer : state.staged)
    for (const std::string& statement : below)
      for (const Loop* above : path_to(state.tree, statement))
        if (buffer.scope_loop == above->id &&
            (above->id == (*loop)->id || find_loop((*loop)->body, above->id)))
          return malformed(buffer.of + " is staged at " + above->name + ": stage comes after");
  const std::string name = (*loop)->name;
  const PrimitiveContext structure = {context.environment, nullptr};
  // Of the first statement alone, which `split` refuses where the loop is shared; then of all.
  Applied split_state =
      split(state, Split{{below.front(), name}, directive.by, false, {}, Tail::Guard}, structure);
  if (!split_state && below.size() > 1)  // several statements share the loop: all of them
    split_state = split(state, Split{{"", name}, directive.by, false, {}, Tail::Guard}, structure);
  if (!split_state) return split_state;
  State next = std::move(*split_state);
  const auto inner = the_loop(next, {below.front(), within_tile(name)});
  if (!inner) return inner.error();
  Loop unrolled = **inner;
  unrolled.kind = LoopKind::Unrolled;
  bool first = true;
  Tree body = jammed(next, (*inner)->body, unrolled, first);
  next.tree = replace_loop(next.tree, (*inner)->id, [&](const Loop&) { return body; });
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_moved(next, below, context)) return *refusal;
  if (auto refusal = check_races(next, below, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
