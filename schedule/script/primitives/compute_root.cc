// compute_root P:   u.o > x.o > { u > x > P at x.o;  C }   ->   { u > x > P;  u.o > x.o > C }
// All of P, once, in a nest of its own before the first nest that reads it. What was recomputed
// (`at`) is the plain statement again, whole where a cut had made parts of it; what was merged
// leaves its nest and keeps its splits and kinds; a `when` is dropped.
#include <algorithm>

#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

bool is_at_root(const State& state, const Names& writers) {
  return std::ranges::all_of(writers, [&](const std::string& writer) {
    const std::vector<const Loop*> path = path_to(state.tree, writer);
    const bool is_alone =
        path.empty() || statements_below(state.tree, path.front()->id) == Names{writer};
    return state.at(writer).lifted == 0 && is_alone;
  });
}

std::optional<Refusal> check(const State& state, const std::string& tensor, const Names& writers) {
  if (writers.empty() || !state.reference->find_buffer(tensor))
    return malformed("no tensor computed here is called " + tensor);
  for (const std::string& writer : writers) {
    const ScheduledStatement& s = state.at(writer);
    if (s.body.region_depth > 0)
      return malformed(writer + " is in an ordered region: it has no nest of its own");
    if (s.body.writes.size() == 1 && s.body.writes.front().buffer != tensor)
      return malformed(tensor + " is staged already: compute_root comes before its stage");
  }
  return std::nullopt;
}

// The reference's own statement again, under its own loops.
Tree plain_nest(State& next, const std::string& writer) {
  const State fresh = reference_state(next.basis);
  ScheduledStatement& s = statement_of(next, writer);
  s = fresh.at(s.reference);
  Names loops;
  for (const LoopRow& row : s.rows) loops.push_back(row.loop);
  return loops_around(next, loops, make_leaf({s.body.name, {}, {}}));
}

// Whether the writers before it hold a part of the same statement, which plain_nest has made whole.
bool is_whole_already(const State& next, const ScheduledStatement& part) {
  const ScheduledStatement* whole = next.find(part.reference);
  return whole && whole->body.name != part.body.name;
}

// The loops that it owns, as they were, around the statement alone.
Tree own_nest(State& next, const State& before, const std::string& writer) {
  const Names owned = owned_loops(before, writer);
  unpin(next, writer);
  Tree tree = make_leaf({writer, {}, {}});
  const std::vector<const Loop*> path = path_to(before.tree, writer);
  for (std::size_t i = path.size(); i > 0; --i) {
    if (std::ranges::find(owned, path[i - 1]->name) == owned.end()) continue;
    Loop loop = *path[i - 1];
    loop.id = next.fresh_loop();
    loop.body = std::move(tree);
    tree = make_loop(std::move(loop));
  }
  return tree;
}

}  // namespace

Applied compute_root(const State& state, const ComputeRoot& directive,
                     const PrimitiveContext& context) {
  const std::string& tensor = directive.tensor;
  const Names writers = select_statements(state, tensor);
  if (auto refusal = check(state, tensor, writers)) return *refusal;
  if (is_at_root(state, writers)) return state;
  State next = state;
  std::vector<Tree> nests;
  Names placed;
  for (const std::string& writer : writers) {
    const ScheduledStatement& s = state.at(writer);
    if (s.lifted > 0 && is_whole_already(next, s)) {
      std::erase_if(next.statements,
                    [&](const ScheduledStatement& other) { return other.body.name == writer; });
    } else {
      nests.push_back(s.lifted > 0 ? plain_nest(next, writer) : own_nest(next, state, writer));
      placed.push_back(s.lifted > 0 ? s.reference : writer);
    }
    if (next.tree) next.tree = without_statement(next.tree, writer);
  }
  std::vector<Tree> children = top_level(next.tree);
  // Whatever reads the tensor has to find all of it: the nests go in front of the first reader.
  const auto reader = std::ranges::find_if(children, [&](const Tree& child) {
    const std::vector<const Leaf*> leaves = leaves_of(child);
    return std::ranges::any_of(
        leaves, [&](const Leaf* leaf) { return reads(next.at(leaf->statement), tensor); });
  });
  children.insert(reader, nests.begin(), nests.end());
  next.tree = make_sequence(std::move(children));
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_moved(next, placed, context)) return *refusal;
  if (context.prover)
    if (auto refusal = context.prover->check_storage(next, tensor)) return *refusal;
  if (auto refusal = check_races(next, placed, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
