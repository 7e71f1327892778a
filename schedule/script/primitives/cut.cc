// cut i at 4:   i > body   ->   i in .. 4 > body, then i in 4 .. > body
// One loop of the schedule, two of the program.
// peel i last:  the last iteration by itself, a cut at the last value. `first 2`: the first two.
// The order of the instances stays: nothing to prove. Lowering drops the conditions that the point
// decides from both parts; `first i`, `par i` and a stage still mean the whole loop.
//
// cut i at 4 as lo, hi:   i > S   ->   { lo > S.lo;  hi > S.hi }
// with lo = hi = i, S.lo where i < 4, S.hi where i >= 4. Two loops of the schedule, with statements
// of their own: each is split, ordered, given a kind and judged by itself.
#include <algorithm>

#include "schedule/script/affine_expr.h"
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

namespace {

// The loop; the statements that own it; the loops around it, over which the point may be.
struct Target {
  const Loop* loop = nullptr;
  std::vector<std::string> owners;
  LoopNames outside;
};

Result<Target, Refusal> target_of(const State& state, const LoopName& name) {
  const auto loop = the_loop(state, name);
  if (!loop) return loop.error();
  Target target{*loop, {}, {}};
  for (const std::string& statement : statements_below(state.tree, (*loop)->id))
    if (!is_pinned(leaf_of(state, statement), **loop)) target.owners.push_back(statement);
  for (const Loop* above : path_to(state.tree, statements_below(state.tree, (*loop)->id).front())) {
    if (above == *loop) break;
    target.outside.insert(above->name);
  }
  return target;
}

// One loop still: each owner's row notes the point, and lowering makes the two loops.
State with_cut(const State& state, const Target& target, const ir::Affine& at) {
  State next = state;
  for (const std::string& statement : target.owners)
    for (LoopRow& row : statement_of(next, statement).rows)
      if (row.loop == target.loop->name) row.cuts.push_back(at);
  return next;
}

// --- parts with names

std::optional<Refusal> check_parts(const State& state, const Target& target, const Names& parts) {
  const std::string& loop = target.loop->name;
  if (parts[0] == parts[1]) return malformed("both parts of " + loop + " are called " + parts[0]);
  for (const StagedBuffer& b : state.staged)
    if (b.scope_loop == target.loop->id || find_loop(target.loop->body, b.scope_loop))
      return malformed(b.of + " is staged in one iteration of " + loop +
                       ": stage comes after a cut into parts");
  for (const PrefetchHint& hint : state.prefetches)
    for (LoopId id : {hint.loop, hint.along})
      if (id == target.loop->id || find_loop(target.loop->body, id))
        return malformed(hint.buffer + " is prefetched in " + loop +
                         ": prefetch comes after a cut into parts");
  for (const std::string& statement : statements_below(state.tree, target.loop->id)) {
    if (is_pinned(leaf_of(state, statement), *target.loop))
      return malformed(statement + " runs in one iteration of " + loop +
                       ": place comes after a cut into parts");
    if (state.at(statement).lifted > 0)
      return malformed(
          statement +
          (state.at(statement).kind == StatementKind::Copy ? " is a copy" : " is recomputed") +
          " below " + loop + ": a cut into parts comes before");
    if (auto refusal = check_uncut(state.at(statement), {loop}, "a cut into parts")) return refusal;
    for (const Loop* other : path_to(state.tree, statement))
      if (other != target.loop && has(parts, other->name))
        return malformed(statement + " has a loop " + other->name + " already");
  }
  return std::nullopt;
}

// "S.lo" of the part "lo" or "i.lo".
std::string part_of(const std::string& statement, const std::string& part) {
  return statement + "." + part.substr(part.rfind('.') + 1);
}

// The part of a statement below or from the point on: the same rows under the part's name, and a
// domain that the loop's value bounds.
ScheduledStatement restricted(ScheduledStatement s, const std::string& loop,
                              const std::string& part, const ir::Affine& at, bool low) {
  const ir::Affine value = row_of(s, loop)->value, point = ir::substitute(at, row_bindings(s));
  s.body.name = part_of(s.body.name, part);
  s.body.domain.push_back(low ? ir::less_than(value, point) : ir::at_least(value, point));
  rename_loops(s, {{loop, part}});
  return s;
}

// A copy of the tree with ids of its own; its leaves speak of these loops.
Tree with_fresh_loops(State& state, const Tree& tree) {
  std::map<LoopId, LoopId> now;
  const Tree fresh = map_loops(tree, [&](Loop loop) {
    loop.id = now[loop.id] = state.fresh_loop();
    return loop;
  });
  return with_other_loops(fresh, now);
}

Applied in_parts(const State& state, const Target& target, const ir::Affine& at,
                 const Names& parts) {
  if (auto refusal = check_parts(state, target, parts)) return *refusal;
  State next = state;
  const Names below = statements_below(state.tree, target.loop->id);
  next.statements.clear();
  for (const ScheduledStatement& s : state.statements) {
    if (!has(below, s.body.name)) {
      next.statements.push_back(s);
      continue;
    }
    for (const std::string& part : parts) {
      if (state.find(part_of(s.body.name, part)))
        return malformed("there is a statement " + part_of(s.body.name, part) +
                         " already: call the parts otherwise");
      next.statements.push_back(restricted(s, target.loop->name, part, at, part == parts.front()));
      next.statements.back().lost.push_back({target.loop->name, "became " + join_words(parts)});
    }
  }
  next.tree = replace_loop(state.tree, target.loop->id, [&](const Loop& whole) {
    std::vector<Tree> children;
    for (const std::string& part : parts) {
      Loop one = whole;
      one.name = part;
      Tree tree = map_leaves(make_loop(std::move(one)), [&](const Leaf& leaf) {
        Leaf own = leaf;
        own.statement = part_of(leaf.statement, part);
        return own;
      });
      if (!children.empty()) tree = with_fresh_loops(next, tree);
      children.push_back(std::move(tree));
    }
    return make_sequence(std::move(children));
  });
  if (auto refusal = settle(next)) return *refusal;
  return next;
}

Applied cut_at(const State& state, const Target& target, const ir::Affine& at, const Names& parts) {
  return parts.empty() ? Applied(with_cut(state, target, at)) : in_parts(state, target, at, parts);
}

}  // namespace

Applied cut(const State& state, const Cut& directive, const PrimitiveContext& context) {
  const auto target = target_of(state, directive.loop);
  if (!target) return target.error();
  std::vector<std::string> symbols(target->outside.begin(), target->outside.end());
  for (const std::string& param : state.reference->params)
    if (context.environment.values.count(param) == 0) symbols.push_back(param);
  const auto at = parse_affine(directive.at.text, symbols, "loops outside " + target->loop->name,
                               context.environment.values);
  if (!at) return malformed(at.error().reason);
  return cut_at(state, *target, *at, directive.parts);
}

Applied peel(const State& state, const Peel& directive, const PrimitiveContext& context) {
  const auto target = target_of(state, directive.loop);
  if (!target) return target.error();
  const auto count = evaluate(directive.count, context, 1);
  if (!count) return count.error();
  if (*count < 1) return malformed("peel takes 1 iteration or more, got " + std::to_string(*count));
  const auto value =
      value_over(state, target->owners, target->loop->name, target->outside, directive.first);
  if (!value)
    return conservative("the " + std::string(directive.first ? "first " : "last ") +
                        target->loop->name +
                        " is not one affine value of the loops outside: cut it at a point instead");
  return cut_at(state, *target, directive.first ? *value + *count : *value + 1 - *count,
                directive.parts);
}

}  // namespace polyte::schedule
