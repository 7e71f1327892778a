// T a tensor, or where several statements update it, the one that is meant:
// split_reduction T: k by 4 as P interleaved
//     split T.update: k by 4;    rewrite rfactor T over k.i as P
//                                blocks
//     split T.update: k into 4;  rewrite rfactor T over k.o as P
//                                tree
//     interleaved; then the 4 parts in 2 (P_2), and these in T
// reassociate T over k: the updates of T may run in another order along k, whatever the contract
// of the script.
#include <algorithm>

#include "schedule/script/primitives/edit.h"
#include "schedule/script/primitives/rewriting.h"

namespace polyte::schedule {

Applied split_reduction(const State& state, const SplitReduction& directive,
                        const PrimitiveContext& context) {
  const auto update = update_named(state, directive.tensor, "split_reduction");
  if (!update) return update.error();
  const auto parts = evaluate(directive.parts, context);
  if (!parts) return parts.error();
  if (*parts < 2)
    return malformed("the size is " + std::to_string(*parts) + ", expected 2 or more");
  const bool is_tree = directive.form == SplitReduction::Form::Halves;
  if (is_tree && (*parts & (*parts - 1)) != 0)
    return malformed("a tree needs a power of two, the size is " + std::to_string(*parts));
  const bool blocks = directive.form == SplitReduction::Form::Blocks;
  Applied applied =
      split(state, {{*update, directive.loop}, directive.parts, blocks, {}, Tail::Guard}, context);
  std::string loop = blocks ? tiles_of(directive.loop) : within_tile(directive.loop);
  if (applied)
    applied = rfactor(*applied, {directive.tensor, {*update, loop}, directive.partial}, context);
  for (std::int64_t half = *parts / 2; is_tree && applied && half > 1; half /= 2) {
    applied =
        split(*applied, {{*update, loop}, {std::to_string(half)}, false, {}, Tail::Guard}, context);
    loop = within_tile(loop);
    const std::string partial = directive.partial + "_" + std::to_string(half);
    if (applied) applied = rfactor(*applied, {directive.tensor, {*update, loop}, partial}, context);
  }
  return applied;
}

Applied reassociate(const State& state, const Reassociate& directive, const PrimitiveContext&) {
  const auto update = update_named(state, directive.tensor, "reassociate");
  if (!update) return update.error();
  const ir::Statement& body = state.basis->statement(state.at(*update).reference);
  const auto& reductions = body.reductions;
  for (const std::string& loop : directive.loops)
    if (std::ranges::find(reductions, loop) == reductions.end())
      return malformed(loop + " is no reduction of " + directive.tensor + " (" +
                       join_words(reductions) + (reductions.size() == 1 ? " is)" : " are)"));
  if (state.may_reorder(body))
    return malformed("the updates of " + directive.tensor + " may run in any order already");
  State next = state;
  next.reassociated[directive.tensor].insert(directive.loops.begin(), directive.loops.end());
  return next;
}

}  // namespace polyte::schedule
