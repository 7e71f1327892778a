#include "schedule/script/primitives/copy_loops.h"

#include <algorithm>

namespace polyte::schedule {

namespace {

// One leaf of the `copy` nest: the copy's own loops, those behind the prefix, are replaced by
// new ones in the order and of the kinds that the nest says. They have to be all of them: their
// rows stay.
std::optional<Refusal> arrange_copy(State& state, const std::string& name,
                                    const std::vector<NestLoop>& path, const StageCopies& stage) {
  const bool exists = std::ranges::find(stage.copies, name) != stage.copies.end();
  // The copy in or out of the stage may be named even where the stage needs none.
  if (!exists && (name == stage.buffer + ".in" || name == stage.buffer + ".out"))
    return std::nullopt;
  if (!exists)
    return malformed("copy: " + name + " is no copy of this stage (" +
                     (stage.copies.empty() ? "it has none" : join_words(stage.copies)) + ")");
  const std::vector<const Loop*> old = path_to(state.tree, name);
  Names own, given;
  for (std::size_t i = stage.prefix; i < old.size(); ++i) own.push_back(old[i]->name);
  for (const NestLoop& loop : path) given.push_back(loop.name);
  if (!std::ranges::is_permutation(own, given))
    return malformed("copy: the loops of " + name + " are " + join_words(own) + ", got " +
                     join_words(given));
  if (own.empty()) return std::nullopt;
  Tree tree = make_leaf({name, {}, {}});
  for (std::size_t i = path.size(); i > 0; --i)
    tree = make_loop({.id = state.fresh_loop(),
                      .name = path[i - 1].name,
                      .kind = path[i - 1].kind,
                      .body = std::move(tree)});
  state.tree = replace_loop(state.tree, old[stage.prefix]->id, [&](const Loop&) { return tree; });
  return std::nullopt;
}

// `path`: the loops of the nest down to `node`. `{ k > x.in; k > x.out }` is for both copies,
// which stand in different places and share no loop.
std::optional<Refusal> arrange(State& state, const NestTree& node, std::vector<NestLoop> path,
                               const StageCopies& stage) {
  if (const NestLoop* loop = std::get_if<NestLoop>(&node->op)) {
    path.push_back(*loop);
    return arrange(state, loop->body, path, stage);
  }
  if (const NestLeaf* leaf = std::get_if<NestLeaf>(&node->op))
    return arrange_copy(state, leaf->statement, path, stage);
  if (!path.empty()) return malformed("the copies of a stage do not share loops");
  for (const NestTree& child : std::get<NestSequence>(node->op).children)
    if (auto refusal = arrange(state, child, path, stage)) return refusal;
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> arrange_copies(State& state, const NestTree& tree,
                                      const StageCopies& stage) {
  return arrange(state, tree, {}, stage);
}

}  // namespace polyte::schedule
