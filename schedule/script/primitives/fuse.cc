// fuse i, j as ij:   i > j > body   ->   ij > body
// with ij = i * E + (j - first j), E the extent of j. The order of the instances stays: nothing
// to prove.
#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

// The new row is i * E + (j - first); its inverse i = ij // E, j = ij % E + first.
void fuse_rows(ScheduledStatement& s, const Fuse& directive, std::int64_t extent,
               std::int64_t first) {
  const std::string &outer = directive.outer.loop, &inner = directive.inner.loop;
  std::vector<LoopRow> rows;
  for (const LoopRow& row : s.rows) {
    if (row.loop == outer) continue;
    rows.push_back(row);
    if (row.loop != inner) continue;
    const LoopRow& around = *row_of(s, outer);
    rows.back() = {directive.name, around.value * extent + row.value - first,
                   row.tail ? row.tail : around.tail};
  }
  s.rows = std::move(rows);
  const Affine fused = Affine::symbol(directive.name);
  const ir::Bindings parts = {{outer, ir::floor_div(fused, extent)},
                              {inner, ir::mod(fused, extent) + first}};
  for (auto& [iterator, value] : s.inverse) value = ir::substitute(value, parts);
  for (ir::Constraint& c : s.loop_domain) c = ir::substitute(c, parts);
}

std::optional<Refusal> check_nested(const Loop& outer, const Loop& inner) {
  if (outer.id == inner.id) return malformed("fuse takes two different loops");
  const Loop* below = std::get_if<Loop>(&inner.body->op);
  if (below && below->id == outer.id)
    return malformed(outer.name + " is inside " + inner.name +
                     ": the outer loop comes first, fuse " + inner.name + ", " + outer.name);
  const Loop* body = std::get_if<Loop>(&outer.body->op);
  if (!body || body->id != inner.id)
    return malformed(inner.name + " is not all that " + outer.name +
                     " holds: fuse takes two perfectly nested loops");
  return std::nullopt;
}

}  // namespace

Applied fuse(const State& state, const Fuse& directive, const PrimitiveContext&) {
  const auto outer = the_loop(state, directive.outer);
  if (!outer) return outer.error();
  LoopName inner_name = directive.inner;
  const std::vector<std::string> below = statements_below(state.tree, (*outer)->id);
  if (inner_name.statement.empty()) inner_name.statement = below.front();
  const auto inner = the_loop(state, inner_name);
  if (!inner) return inner.error();
  if (auto refusal = check_nested(**outer, **inner)) return *refusal;
  for (const std::string& statement : below) {
    const Leaf& leaf = leaf_of(state, statement);
    if (is_pinned(leaf, **outer) || is_pinned(leaf, **inner))
      return malformed(statement + " is placed in an iteration of " + (*outer)->name + " or " +
                       (*inner)->name + ": fuse the loops before");
    for (const Loop* other : path_to(state.tree, statement))
      if (other->name == directive.name && other != *outer && other != *inner)
        return malformed(statement + " has a loop " + directive.name + " already");
  }
  for (const StagedBuffer& buffer : state.staged)
    if (buffer.scope_loop == (*outer)->id)
      return malformed(buffer.of + " is staged at " + (*outer)->name + ": fuse the loops before");
  const ir::Ranges ranges = loop_ranges(state, below);
  const auto extent = extent_of(state, below, (*inner)->name);
  if (!extent)
    return conservative((*inner)->name +
                        " has no constant extent: the fused loop would not be affine");
  const auto range = ranges.find((*inner)->name);
  // Statements below may have parts of the range: extent and first value are those of all
  // together, so that each counts alike.
  const std::int64_t first = range == ranges.end() ? 0 : range->second.min.value_or(0);
  State next = state;
  for (const std::string& statement : below) {
    ScheduledStatement& s = statement_of(next, statement);
    for (const std::string& gone : {(*outer)->name, (*inner)->name}) {
      if (auto refusal = check_kept(s, gone)) return *refusal;
      if (gone != directive.name) s.lost.push_back({gone, "became " + directive.name});
    }
    fuse_rows(s, directive, std::max<std::int64_t>(*extent, 1), first);
  }
  next.tree = replace_loop(state.tree, (*outer)->id, [&](const Loop& old) {
    Loop fused = **inner;
    fused.name = directive.name;
    fused.kind = old.kind == (*inner)->kind ? old.kind : LoopKind::Serial;
    return make_loop(std::move(fused));
  });
  // The fused loop has the inner one's id: stages and hints in it stay, what named an iteration
  // of the outer one follows.
  next.tree = with_other_loops(next.tree, {{(*outer)->id, (*inner)->id}});
  if (auto refusal = settle(next)) return *refusal;
  // Divisions of divisions may be equal without the normal form showing it.
  if (!verify(next).empty())
    return conservative("the values of " + directive.name + " cannot be shown to give those of " +
                        (*outer)->name + " and " + (*inner)->name + " back");
  return next;
}

}  // namespace polyte::schedule
