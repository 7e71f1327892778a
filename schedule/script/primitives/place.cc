// place S when first k.o:   { m > S;  m > k.o > m.i > T }
//                      ->   m > k.o > { S when first k.o;  m.i > T }
// reverse_compute_at S at L [when ..]: the same for a consumer, at the end of the body of a loop L.
// The statement joins the nest that shares a tensor with it; above the site it owns each loop or
// says `when`; its other loops follow below, as they were.
#include <algorithm>

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

bool shares_tensor(const State& state, const std::string& a, const std::string& b) {
  for (const AccessRef& x : accesses_of(state.at(a)))
    for (const AccessRef& y : accesses_of(state.at(b)))
      if (x.access.buffer == y.access.buffer && (x.write || y.write)) return true;
  return false;
}

// The deepest of the loops that `when` names, in a nest that works on a tensor of the statement and
// has all of these loops.
Result<const Loop*, Refusal> site_of(const State& state, const std::string& statement,
                                     const std::vector<When>& when) {
  std::vector<const Loop*> found;
  std::vector<std::string> candidates;
  for (const Leaf* leaf : leaves_of(state.tree)) {
    if (leaf->statement == statement || !shares_tensor(state, statement, leaf->statement)) continue;
    const Loop* deepest = nullptr;
    std::size_t matched = 0;
    for (const Loop* loop : path_to(state.tree, leaf->statement))
      for (const When& w : when)
        if (w.loop == loop->name) {
          deepest = loop;
          ++matched;
        }
    if (matched < when.size() || std::ranges::find(found, deepest) != found.end()) continue;
    found.push_back(deepest);
    candidates.push_back(leaf->statement + ":" + deepest->name);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return malformed("where to place " + statement + " is ambiguous (" + join_words(candidates) +
                     "): use reverse_compute_at");
  const auto loop = the_loop(state, {"", when.front().loop});
  if (!loop) return loop.error();
  return malformed("no statement below " + when.front().loop + " works on a tensor of " +
                   statement);
}

// The statement's nest, without the loops that it will share with those above the site, at the
// front or the end of the site's body:
//
//   m > n > y   into the end of k.o in m > k.o > acc   ->   m > k.o > { acc; n > y when last k.o }
Applied move_into(const State& state, const std::string& statement, const Loop& site,
                  const std::vector<When>& when, bool at_end, const PrimitiveContext& context) {
  std::vector<std::string> above;
  for (const Loop* loop : path_to(state.tree, statements_below(state.tree, site.id).front())) {
    above.push_back(loop->name);
    if (loop->id == site.id) break;
  }
  const std::vector<std::string> owned = owned_loops(state, statement);
  for (const std::string& loop : above) {
    const bool pinned = std::ranges::any_of(when, [&](const When& w) { return w.loop == loop; });
    if (has(owned, loop) && pinned)
      return malformed(statement + " has a loop " + loop +
                       " of its own: when means a loop it does not have");
    if (!has(owned, loop) && !pinned)
      return malformed(statement + " would be inside " + loop +
                       " and has no loop of that name: say when first or when last " + loop +
                       " (its loops are " + join_words(owned) + ")");
  }
  for (const When& w : when)
    if (!has(above, w.loop))
      return malformed(statement + " when " + (w.first ? "first " : "last ") + w.loop +
                       ": it is not below " + w.loop);
  State next = state;
  unpin(next, statement);
  Tree moved = make_leaf({statement, {}, {}});
  const std::vector<const Loop*> path = path_to(state.tree, statement);
  for (std::size_t i = path.size(); i > 0; --i) {
    if (has(above, path[i - 1]->name) || !has(owned, path[i - 1]->name)) continue;
    Loop loop = *path[i - 1];
    loop.id = next.fresh_loop();
    loop.body = std::move(moved);
    moved = make_loop(std::move(loop));
  }
  next.tree = without_statement(next.tree, statement);
  if (!next.tree || !find_loop(next.tree, site.id))
    return malformed(statement + " is the only statement below " + site.name);
  next.tree = replace_loop(next.tree, site.id, [&](const Loop& loop) {
    Loop rebuilt = loop;
    rebuilt.body = at_end ? make_sequence({loop.body, moved}) : make_sequence({moved, loop.body});
    return make_loop(std::move(rebuilt));
  });
  NestLeaf leaf = leaf_said(leaf_of(state, statement), state.tree);
  leaf.when = when;
  next.tree = with_leaf(next.tree, leaf);
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_moved(next, {statement}, context)) return *refusal;
  if (auto refusal = check_races(next, {statement}, context)) return *refusal;
  return next;
}

}  // namespace

Applied place(const State& state, const Place& directive, const PrimitiveContext& context) {
  const auto statement = the_statement(state, directive.statement);
  if (!statement) return statement.error();
  if (directive.when.empty()) return malformed("place needs when first or when last");
  for (const When& when : directive.when)
    for (const std::string& own : owned_loops(state, *statement))
      if (own == when.loop)
        return malformed(*statement + " has a loop " + own +
                         " of its own: when means a loop it does not have");
  const auto site = site_of(state, *statement, directive.when);
  if (!site) return site.error();
  return move_into(state, *statement, **site, directive.when, !directive.when.front().first,
                   context);
}

Applied reverse_compute_at(const State& state, const ReverseComputeAt& directive,
                           const PrimitiveContext& context) {
  const auto statement = the_statement(state, directive.consumer);
  if (!statement) return statement.error();
  const auto site = the_loop(state, directive.at);
  if (!site && directive.at.statement.empty()) {
    // The consumer's own loop of that name is no candidate.
    std::vector<const Loop*> others;
    for (const Leaf* leaf : leaves_of(state.tree))
      if (leaf->statement != *statement)
        for (const Loop* loop : path_to(state.tree, leaf->statement))
          if (loop->name == directive.at.loop && !contains(loop->body, *statement) &&
              std::ranges::find(others, loop) == others.end())
            others.push_back(loop);
    if (others.size() == 1)
      return move_into(state, *statement, *others.front(), directive.when, true, context);
  }
  if (!site) return site.error();
  if (contains((*site)->body, *statement))
    return malformed(*statement + " is below that " + (*site)->name + " already");
  return move_into(state, *statement, **site, directive.when, true, context);
}

}  // namespace polyte::schedule
