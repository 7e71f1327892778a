// order S: i > j > k    the whole path of a statement; it leaves loops that it shared
// reorder S: k > i      these loops of a perfect nest, in this order, in their places; other
//                       statements below follow
#include <algorithm>

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

// A nest of this one statement with the kinds that its loops have: what is not named follows
// innermost. `when` goes, and a loop that it had named then is one that the statement has to
// own.
Applied order(const State& state, const Order& directive, const PrimitiveContext& context) {
  const auto statement = the_statement(state, directive.statement);
  if (!statement) return statement.error();
  NestLeaf leaf = leaf_said(leaf_of(state, *statement), state.tree);
  for (auto name = directive.loops.begin(); name != directive.loops.end(); ++name) {
    if (std::find(directive.loops.begin(), name, *name) != name)
      return malformed("order names " + *name + " twice");
    const bool is_above =
        !leaf.when.empty() || !leaf.at.empty() || row_of(state.at(*statement), *name);
    if (!is_above) return malformed(no_loop_text(state, *statement, *name));
  }
  leaf.when.clear();
  NestPath path;
  for (const std::string& name : directive.loops) {
    path.push_back({name});
    for (const Loop* above : path_to(state.tree, *statement))
      if (above->name == name) path.back().kind = above->kind;
  }
  return nest(state,
              {"", nest_path(path, std::make_shared<const NestNode>(NestNode{std::move(leaf)}))},
              context);
}

namespace {

// The loops from the outermost to the innermost that is named; Malformed unless each holds just
// the next.
Result<std::vector<const Loop*>, Refusal> perfect_chain(const std::vector<const Loop*>& path,
                                                        const std::vector<std::string>& named) {
  std::vector<const Loop*> chain;
  std::size_t found = 0;
  for (const Loop* loop : path) {
    const bool is_named = std::ranges::find(named, loop->name) != named.end();
    if (chain.empty() && !is_named) continue;
    chain.push_back(loop);
    if (is_named && ++found == named.size()) return chain;
    if (!std::holds_alternative<Loop>(loop->body->op))
      return malformed("the loops are not perfectly nested: " + loop->name +
                       " holds more than one loop (distribute it, or say the nest)");
  }
  return malformed("a loop is named twice");
}

}  // namespace

Applied reorder(const State& state, const Reorder& directive, const PrimitiveContext& context) {
  if (directive.loops.size() < 2) return malformed("reorder needs two loops or more");
  for (auto name = directive.loops.begin(); name != directive.loops.end(); ++name)
    if (std::find(directive.loops.begin(), name, *name) != name)
      return malformed("reorder names " + *name + " twice");
  const auto loop = the_loop(state, {directive.statement, directive.loops.front()});
  if (!loop) return loop.error();
  const std::string below = statements_below(state.tree, (*loop)->id).front();
  const std::vector<const Loop*> path = path_to(state.tree, below);
  for (const std::string& name : directive.loops)
    if (std::ranges::none_of(path, [&](const Loop* l) { return l->name == name; }))
      return malformed(no_loop_text(state, below, name));
  const auto chain = perfect_chain(path, directive.loops);
  if (!chain) return chain.error();
  // From the inside out: places of loops that are named take the named ones in their new order,
  // all others stay.
  Tree tree = chain->back()->body;
  std::size_t next_name = directive.loops.size();
  for (std::size_t i = chain->size(); i > 0; --i) {
    Loop rebuilt = *(*chain)[i - 1];
    if (std::ranges::find(directive.loops, rebuilt.name) != directive.loops.end()) {
      const std::string& name = directive.loops[--next_name];
      rebuilt = **std::ranges::find_if(*chain, [&](const Loop* l) { return l->name == name; });
    }
    rebuilt.body = tree;
    tree = make_loop(std::move(rebuilt));
  }
  State next = state;
  next.tree = replace_loop(state.tree, chain->front()->id, [&](const Loop&) { return tree; });
  for (const StagedBuffer& buffer : state.staged)
    for (const Loop* l : *chain)
      if (buffer.scope_loop == l->id)
        return malformed(buffer.of + " is staged at " + l->name +
                         ": stage comes after the order of its loops");
  const std::vector<std::string> moved = statements_below(next.tree, chain->front()->id);
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_moved(next, moved, context)) return *refusal;
  if (auto refusal = check_races(next, moved, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
