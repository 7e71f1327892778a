// compute_at P at L:   { u > x > P;  u.o > x.o > C }   ->   u.o > x.o > { u > x > P at x.o;  C }
// P's statements are lifted (lift.h) and stand before the first of their consumers in L's body.
// Their tensor must be read below L only. Races over its elements are judged once it is staged.
#include <algorithm>

#include "schedule/script/primitives/lift.h"
#include "schedule/script/script_text.h"

namespace polyte::schedule {

namespace {

// The kinds that a statement's loops had keep on their lifted loops, which are the same in number
// and order.
Tree lifted_nest(State& next, const State& before, const Leaf& leaf, std::size_t prefix) {
  const ScheduledStatement& s = next.at(leaf.statement);
  const std::vector<const Loop*> old_path = path_to(before.tree, leaf.statement);
  Tree tree = make_leaf(leaf);
  for (std::size_t i = s.rows.size(); i > prefix; --i) {
    const LoopKind kind = old_path.at(i - 1 - prefix)->kind;
    tree = make_loop({.id = next.fresh_loop(),
                      .name = s.rows[i - 1].loop,
                      .kind = ir::is_threaded(kind) ? LoopKind::Serial : kind,
                      .body = std::move(tree)});
  }
  return tree;
}

// Whatever stands in front of the first consumer stays in front.
Tree insert_before_consumers(const Loop& loop, const std::vector<Tree>& nests,
                             const std::vector<std::string>& consumers) {
  std::vector<Tree> children = top_level(loop.body);
  const auto first = std::ranges::find_if(children, [&](const Tree& child) {
    return std::ranges::any_of(consumers, [&](const std::string& c) { return contains(child, c); });
  });
  children.insert(first, nests.begin(), nests.end());
  Loop rebuilt = loop;
  rebuilt.body = make_sequence(std::move(children));
  return make_loop(std::move(rebuilt));
}

Refusal no_producer(const State& state, const std::string& name) {
  const ir::Buffer* buffer = state.basis->find_buffer(name);
  if (!buffer) return malformed("no tensor computed here is called " + name);
  if (buffer->role == ir::Role::In || buffer->role == ir::Role::Const)
    return malformed(name + " is an " + ir::to_string(buffer->role) +
                     " tensor: nothing computes it (cache_read copies it)");
  return malformed("no statement computes " + name);
}

// A reader elsewhere would find only what the last iteration has made.
std::optional<Refusal> check_readers(const State& state, const std::string& tensor,
                                     const std::vector<std::string>& consumers,
                                     const std::string& loop) {
  for (const ScheduledStatement& s : state.statements) {
    const bool is_outside = std::ranges::find(consumers, s.body.name) == consumers.end();
    if (is_outside && reads(s, tensor) && !writes(s, tensor))
      return malformed(s.body.name + " reads " + tensor + " outside " + loop);
  }
  return std::nullopt;
}

}  // namespace

Applied compute_at(const State& state, const ComputeAt& directive,
                   const PrimitiveContext& context) {
  std::string tensor = directive.producer;
  if (const ScheduledStatement* s = state.find(tensor); s && !state.basis->find_buffer(tensor))
    tensor = s->body.writes.front().buffer;
  const std::vector<std::string> writers = select_statements(state, tensor);
  if (writers.empty()) return no_producer(state, directive.producer);
  if (writers.size() > 1 && state.find(directive.producer) && directive.producer != tensor)
    return malformed("recomputing " + directive.producer + " alone is not enough: " +
                     join_words(writers) + " go together (compute_at " + tensor + ")");
  const auto loop = the_loop(state, directive.at);
  if (!loop) return loop.error();
  const std::vector<std::string> consumers = consumers_below(state, **loop, tensor);
  // A loop whose statements only write the tensor is one of the producer itself.
  if (consumers.empty() &&
      std::ranges::all_of(statements_below(state.tree, (*loop)->id), [&](const std::string& s) {
        return std::ranges::find(writers, s) != writers.end();
      }))
    return malformed(print(directive.at) + " is a loop of " + tensor +
                     " itself: expected one of a statement that reads it");
  if (auto refusal = check_readers(state, tensor, consumers, (*loop)->name)) return *refusal;
  if (consumers.empty()) return malformed("nothing below " + (*loop)->name + " reads " + tensor);
  LiftSite site{{}, consumers, directive.per};
  std::vector<const Loop*> above = path_to(state.tree, consumers.front());
  above.erase(std::ranges::find(above, *loop) + 1, above.end());
  for (const Loop* each : above) site.prefix.push_back(each->name);
  State next = state;
  for (const std::string& writer : writers) next.tree = without_statement(next.tree, writer);
  if (auto refusal = lift(next, tensor, site)) return *refusal;
  std::vector<Tree> nests;
  for (const std::string& writer : writers)
    nests.push_back(lifted_nest(
        next, state, leaf_meant({writer, {}, (*loop)->name, site.per}, above), site.prefix.size()));
  next.tree = replace_loop(next.tree, (*loop)->id, [&](const Loop& l) {
    return insert_before_consumers(l, nests, consumers);
  });
  if (auto refusal = settle(next)) return *refusal;
  // Divisions of divisions may be equal without the normal form showing it.
  if (!verify(next).empty())
    return conservative("the loops above " + (*loop)->name +
                        " cannot be shown to give the iterators of " + tensor + " back");
  if (!context.prover) return next;
  if (auto refusal = context.prover->check_bounds(next, writers)) return *refusal;
  if (auto refusal = context.prover->check_storage(next, tensor)) return *refusal;
  if (auto refusal = check_races(next, writers, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
