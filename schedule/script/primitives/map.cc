// map S (t, 2*t + i), T (t, 2*t + i + 1) as (t, I):   t > { i > S; i > T }   ->   t > I > { S; T }
// A whole affine schedule: all rows of the statements become these expressions over their
// iterators, and one nest of the named loops holds them, where the last of them stood. One-to-one
// on the domain, or it is refused; the order of the instances is what has to be proved.
#include <algorithm>

#include "schedule/script/affine_expr.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/primitives/inversion.h"
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

namespace {

Result<std::vector<LoopRow>, Refusal> rows_of(const ScheduledStatement& s, const Map::Item& item,
                                              const std::vector<std::string>& loops,
                                              const PrimitiveContext& context) {
  if (item.values.size() != loops.size())
    return malformed("the map of " + s.body.name + " has " + std::to_string(item.values.size()) +
                     " values for " + std::to_string(loops.size()) + " loops");
  std::vector<LoopRow> rows;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const auto value = parse_affine(item.values[i].text, s.body.iterators,
                                    "iterators of " + s.body.name, context.environment.values);
    if (!value) return malformed(value.error().reason);
    rows.push_back({loops[i], *value});
  }
  return rows;
}

// The rows are given; the inverse, and what the rows imply for the loops, are solved for. What
// hung on the loops of before goes with them, so that cuts, lifted iterators and copies are
// refused.
//
//   rows t, 2*t + i as (t, I)     inverse t = t, i = I - 2*t
std::optional<Refusal> map_statement(State& state, const Map::Item& item,
                                     const std::vector<std::string>& loops,
                                     const PrimitiveContext& context) {
  ScheduledStatement& s = statement_of(state, item.statement);
  if (s.lifted > 0)
    return malformed(item.statement +
                     (s.kind == StatementKind::Copy ? " is a copy" : " is recomputed") +
                     ": map comes before");
  Names before;
  for (const LoopRow& row : s.rows) before.push_back(row.loop);
  if (auto refusal = check_uncut(s, before, "map")) return refusal;
  const auto rows = rows_of(s, item, loops, context);
  if (!rows) return rows.error();
  const auto inversion = invert(*rows, s.body.iterators, iterator_ranges(state, s));
  if (!inversion) return not_one_to_one(state, s, *rows);
  for (const std::string& loop : before)
    if (!has(loops, loop)) s.lost.push_back({loop, "became " + join_words(loops)});
  s.rows = *rows;
  s.inverse = s.counted = inversion->values;
  s.mapped = row_bindings(s);
  s.loop_domain = inversion->implied;
  return std::nullopt;
}

// t > I > { S; T }: one nest for all, in the order in which the map names them.
NestTree shared_nest(const Map& directive) {
  std::vector<NestTree> leaves;
  for (const Map::Item& item : directive.items) leaves.push_back(nest_statement(item.statement));
  NestPath path;
  for (const std::string& loop : directive.loops) path.push_back({loop});
  return nest_path(path, nest_sequence(std::move(leaves)));
}

std::optional<Refusal> check_names(const State& state, const Map& directive) {
  for (std::size_t i = 0; i < directive.loops.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (directive.loops[i] == directive.loops[j])
        return malformed(directive.loops[i] + " names two loops of the map");
  for (std::size_t i = 0; i < directive.items.size(); ++i) {
    const auto statement = the_statement(state, directive.items[i].statement);
    if (!statement) return statement.error();
    for (std::size_t j = 0; j < i; ++j)
      if (directive.items[i].statement == directive.items[j].statement)
        return malformed(directive.items[i].statement + " is mapped twice");
  }
  return std::nullopt;
}

}  // namespace

Refusal iterators_lost() {
  return conservative("the iterators cannot be shown to come back from the loops of the map");
}

// Leaves lose their `when` and `at`, which speak of loops that no longer exist.
std::optional<Refusal> map_rows(State& next, const Map& directive,
                                const PrimitiveContext& context) {
  if (auto refusal = check_names(next, directive)) return refusal;
  for (const Map::Item& item : directive.items)
    if (auto refusal = map_statement(next, item, directive.loops, context)) return refusal;
  next.tree = map_leaves(next.tree, [&](const Leaf& leaf) {
    const bool is_mapped = std::ranges::any_of(
        directive.items, [&](const Map::Item& item) { return item.statement == leaf.statement; });
    return is_mapped ? Leaf{leaf.statement, {}, {}} : leaf;
  });
  return std::nullopt;
}

Applied map(const State& state, const Map& directive, const PrimitiveContext& context) {
  State next = state;
  if (auto refusal = map_rows(next, directive, context)) return *refusal;
  Applied applied = nest(next, {"", shared_nest(directive)}, context);
  if (applied && !verify(*applied).empty()) return iterators_lost();
  return applied;
}

}  // namespace polyte::schedule
