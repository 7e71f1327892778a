// split k by F from c:  k > body   ->   k.o > k.i > body,  k.o = (k - c) // F,  k.i = (k - c) % F
// Tiles are absolute, not relative to the loop's first value: only so do two statements share
// tiles. A bijection, so that there is nothing to prove but for the tails round and shift
// (tails.cc). Statements that share the loop must be split together.
#include <algorithm>

#include "schedule/script/primitives/tails.h"

namespace polyte::schedule {

namespace {

// The statements that have the named loop; Malformed if none has.
Result<std::vector<std::string>, Refusal> targets_of(const State& state, const LoopName& name) {
  std::vector<std::string> candidates;
  if (name.statement.empty()) {
    for (const Leaf* leaf : leaves_of(state.tree)) candidates.push_back(leaf->statement);
  } else {
    candidates = select_statements(state, name.statement);
    if (candidates.empty()) return the_statement(state, name.statement).error();
  }
  std::vector<std::string> owners;
  for (const std::string& statement : candidates)
    if (row_of(state.at(statement), name.loop)) owners.push_back(statement);
  if (owners.empty()) return the_loop(state, name).error();
  return owners;
}

std::vector<LoopId> loop_ids(const State& state, const std::vector<std::string>& statements,
                             const std::string& loop) {
  std::vector<LoopId> ids;
  for (const std::string& statement : statements)
    for (const Loop* l : path_to(state.tree, statement))
      if (l->name == loop && std::ranges::find(ids, l->id) == ids.end()) ids.push_back(l->id);
  return ids;
}

// A loop of the tree is split for all statements in it or for none.
std::optional<Refusal> check_whole(const State& state, const std::vector<std::string>& targets,
                                   const std::vector<LoopId>& ids, const std::string& loop) {
  for (LoopId id : ids)
    for (const std::string& statement : statements_below(state.tree, id))
      if (std::ranges::find(targets, statement) == targets.end())
        return malformed(loop + " is shared with " + statement +
                         ": split it for all of its statements");
  return std::nullopt;
}

// par k -> par k.o > k.i, and what is bound;  <k> -> k.o > <k.i>;  [k] -> [k.o] > [k.i].
Tree split_loop(const Loop& loop, LoopId inner_id) {
  Loop outer = loop, inner = loop;
  outer.name = tiles_of(loop.name);
  inner.name = within_tile(loop.name);
  inner.id = inner_id;
  if (ir::is_threaded(loop.kind)) inner.kind = LoopKind::Serial;
  if (loop.kind == LoopKind::Vector) outer.kind = LoopKind::Serial;
  outer.body = make_loop(std::move(inner));
  return make_loop(std::move(outer));
}

// `when first k` becomes `when first k.o` and `when first k.i`; `at` and `per` of one iteration of
// k speak of k.i.
Leaf split_leaf(const Leaf& leaf, LoopId loop, LoopId inner) {
  Leaf result = leaf;
  result.pins.clear();
  for (const Pin& pin : leaf.pins) {
    result.pins.push_back(pin);
    if (pin.loop == loop) result.pins.push_back({pin.first, inner});
  }
  for (std::optional<LoopId>* said : {&result.at, &result.per})
    if (*said == loop) *said = inner;
  return result;
}

Result<std::int64_t, Refusal> factor_of(const State& state, const Split& directive,
                                        const std::vector<std::string>& targets,
                                        const PrimitiveContext& context) {
  auto size = evaluate(directive.factor, context);
  if (!size) return size;
  if (*size < 1) return malformed("the size is " + std::to_string(*size) + ", expected 1 or more");
  if (!directive.into) return size;
  const auto extent = extent_of(state, targets, directive.loop.loop);
  if (!extent) return conservative("split into needs a loop of constant extent");
  // `into n`: the tile of which n cover the loop, ceil(extent / n).
  return std::max<std::int64_t>(1, (*extent + *size - 1) / *size);
}

}  // namespace

// `loop` may be the name in a row of s: it is not read once the rows are replaced.
void split_row(ScheduledStatement& s, const std::string& loop, std::int64_t factor,
               std::int64_t from, std::optional<Tail> tail) {
  const std::string outer = tiles_of(loop), inner = within_tile(loop);
  const ir::Bindings whole = {
      {loop, ir::Affine::symbol(outer) * factor + ir::Affine::symbol(inner) + from}};
  std::vector<LoopRow> rows;
  for (const LoopRow& row : s.rows) {
    if (row.loop != loop) {
      rows.push_back(row);
      continue;
    }
    rows.push_back({outer, ir::floor_div(row.value - from, factor), row.tail});
    rows.push_back({inner, ir::mod(row.value - from, factor), tail});
  }
  s.rows = std::move(rows);
  for (auto& [iterator, value] : s.inverse) value = ir::substitute(value, whole);
  for (ir::Constraint& c : s.loop_domain) c = ir::substitute(c, whole);
  s.loop_domain.push_back(ir::at_least(ir::Affine::symbol(inner), 0));
  s.loop_domain.push_back(ir::less_than(ir::Affine::symbol(inner), factor));
}

Applied split(const State& state, const Split& directive, const PrimitiveContext& context) {
  const std::string& loop = directive.loop.loop;
  const auto targets = targets_of(state, directive.loop);
  if (!targets) return targets.error();
  const std::vector<LoopId> ids = loop_ids(state, *targets, loop);
  if (auto refusal = check_whole(state, *targets, ids, loop)) return *refusal;
  for (const std::string& statement : *targets)
    for (const Loop* l : path_to(state.tree, statement))
      if (l->name == tiles_of(loop) || l->name == within_tile(loop))
        return malformed(statement + " has a loop " + l->name + " already: its loop " + loop +
                         " cannot be split by that name");
  const auto factor = factor_of(state, directive, *targets, context);
  if (!factor) return factor.error();
  const auto from = evaluate(directive.from, context);
  if (!from) return from.error();
  State next = state;
  for (const std::string& statement : *targets) {
    ScheduledStatement& s = statement_of(next, statement);
    if (auto refusal = check_kept(s, loop)) return *refusal;
    split_row(s, loop, *factor, *from, directive.tail);
    s.lost.push_back({loop, "was split into " + tiles_of(loop) + " and " + within_tile(loop)});
  }
  for (LoopId id : ids) {
    const LoopId inner = next.fresh_loop();
    // A buffer that begins anew in each iteration of k does so in each of k.i.
    for (StagedBuffer& buffer : next.staged)
      if (buffer.scope_loop == id) buffer.scope_loop = inner;
    for (PrefetchHint& hint : next.prefetches)  // so many of the old iterations ahead
      for (LoopId* hinted : {&hint.loop, &hint.along})
        if (*hinted == id) *hinted = inner;
    next.tree = replace_loop(next.tree, id, [&](const Loop& l) { return split_loop(l, inner); });
    next.tree =
        map_leaves(next.tree, [&](const Leaf& leaf) { return split_leaf(leaf, id, inner); });
  }
  if (auto refusal = settle(next)) return *refusal;
  return with_tail(next, *targets, within_tile(loop), directive.tail, context);
}

// tile (i, j) by (Fi, Fj) is one split per loop; their order is for `reorder` or `nest`.
Applied tile(const State& state, const Tile& directive, const PrimitiveContext& context) {
  if (directive.loops.size() != directive.factors.size())
    return malformed("tile has " + std::to_string(directive.loops.size()) + " loops and " +
                     std::to_string(directive.factors.size()) + " sizes");
  for (auto loop = directive.loops.begin(); loop != directive.loops.end(); ++loop)
    if (std::find(directive.loops.begin(), loop, *loop) != loop)
      return malformed("tile names " + *loop + " twice");
  State next = state;
  for (std::size_t i = 0; i < directive.loops.size(); ++i) {
    const Split one = {
        {directive.statement, directive.loops[i]}, directive.factors[i], false, {}, directive.tail};
    Applied applied = split(next, one, context);
    if (!applied) return applied.error();
    next = std::move(*applied);
  }
  return next;
}

}  // namespace polyte::schedule
