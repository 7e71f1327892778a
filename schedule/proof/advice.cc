// Advice for a dependence that runs backwards: small changes of the schedule that the same test
// accepts. Nothing is suggested that was not checked: a shift of the sink's loop, or separate loops
// for source and sink.
#include <algorithm>
#include <set>

#include "schedule/proof/prover_impl.h"
#include "schedule/state/nest_tree.h"

namespace polyte::schedule {
namespace {

constexpr int kMaxShift = 4;

bool legal(const Basis& basis, const State& state, const IslContext& context) {
  return !find_order_violation(basis, make_model(context, state), {}).has_value();
}

const std::string& sink_name(const Basis& basis, const OrderViolation& v) {
  return basis.model.statements[static_cast<std::size_t>(v.dependence->sink)].statement->body.name;
}
const std::string& source_name(const Basis& basis, const OrderViolation& v) {
  return basis.model.statements[static_cast<std::size_t>(v.dependence->source)]
      .statement->body.name;
}

State shifted(const State& state, const std::string& statement, const std::string& loop,
              int amount) {
  State next = state;
  for (ScheduledStatement& s : next.statements) {
    if (s.body.name != statement) continue;
    for (LoopRow& row : s.rows) {
      if (row.loop == loop) row.value = row.value + amount;
    }
  }
  return next;
}

// The sink a few iterations later: B reads A[i + 1], fused with A in one loop i, is legal at i+1.
// The least amount that the order walk accepts for all dependences, not only for this one.
std::string shift_advice(const Basis& basis, const State& state, const OrderViolation& v,
                         const IslContext& context) {
  if (v.loop.empty() || v.dependence->source == v.dependence->sink) return "";
  // Placed in the first or last iteration: no shift says another.
  for (const Leaf* leaf : leaves_of(state.tree))
    for (const When& when : leaf_said(*leaf, state.tree).when)
      if (leaf->statement == sink_name(basis, v) && when.loop == v.loop) return "";
  for (int amount = 1; amount <= kMaxShift; ++amount) {
    if (!legal(basis, shifted(state, sink_name(basis, v), v.loop, amount), context)) continue;
    return sink_name(basis, v) + " shifted by " + v.loop + "+" + std::to_string(amount);
  }
  return "";
}

// The tree with the loop `name` above `statement` distributed over the children of the sequence
// below it. Loops between the two are distributed along with it:
//
//   i > j > { A; B }       with name = i:      { i > j > A; i > j > B }
struct Distribution {
  Tree nest;          // the new sequence; null: none
  std::string under;  // the loop around it; empty at the root
};

Tree distributed(const Tree& tree, const std::string& name, const std::string& statement,
                 Distribution& found, const std::string& around) {
  if (const auto* sequence = std::get_if<Sequence>(&tree->op)) {
    std::vector<Tree> children;
    for (const Tree& child : sequence->children)
      children.push_back(distributed(child, name, statement, found, around));
    return make_sequence(std::move(children));
  }
  const auto* loop = std::get_if<Loop>(&tree->op);
  if (!loop) return tree;
  std::vector<std::string> below = statements_below(tree, loop->id);
  if (std::ranges::find(below, statement) == below.end()) return tree;
  if (loop->name != name) {
    Loop copy = *loop;
    copy.body = distributed(loop->body, name, statement, found, loop->name);
    return make_loop(std::move(copy));
  }
  std::vector<const Loop*> chain{loop};
  Tree inner = loop->body;
  while (const auto* next = std::get_if<Loop>(&inner->op)) {
    chain.push_back(next);
    inner = next->body;
  }
  const auto* sequence = std::get_if<Sequence>(&inner->op);
  if (!sequence) return tree;
  std::vector<Tree> nests;
  for (const Tree& child : sequence->children) {
    Tree nest = child;
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      Loop copy = **it;
      copy.body = nest;
      nest = make_loop(std::move(copy));
    }
    nests.push_back(nest);
  }
  Tree result = make_sequence(std::move(nests));
  found.nest = result;
  found.under = around;
  return result;
}

std::string distribution_advice(const Basis& basis, const State& state, const OrderViolation& v,
                                const IslContext& context) {
  if (v.loop.empty() || v.dependence->source == v.dependence->sink) return "";
  Distribution found;
  State next = state;
  next.tree = distributed(state.tree, v.loop, source_name(basis, v), found, "");
  if (!found.nest || !legal(basis, next, context)) return "";
  return print_nest(found.nest, state.tree) + (found.under.empty() ? "" : " under " + found.under);
}

// Whether letting the terms of the sums on both ends change places would be enough.
std::string contract_advice(const Basis& basis, const State& state, const OrderViolation& v,
                            const IslContext& context) {
  if (!v.dependence->updates) return "";
  std::set<std::string> summed;
  for (const int end : {v.dependence->source, v.dependence->sink}) {
    const ir::Statement& s = basis.model.statements[static_cast<std::size_t>(end)].statement->body;
    summed.insert(s.reductions.begin(), s.reductions.end());
  }
  State next = state;
  next.contract = Contract::Reassoc;
  next.reassociable.insert(summed.begin(), summed.end());
  if (!legal(basis, next, context)) return "";
  std::string loops;
  for (const std::string& loop : summed) loops += (loops.empty() ? "" : ", ") + loop;
  return "the contract `reassoc " + loops + "`";
}

}  // namespace

std::vector<std::string> order_advice(const Basis& basis, const State& state,
                                      const OrderViolation& violation, const IslContext& context) {
  std::vector<std::string> advice;
  for (std::string text : {shift_advice(basis, state, violation, context),
                           distribution_advice(basis, state, violation, context),
                           contract_advice(basis, state, violation, context)}) {
    if (!text.empty()) advice.push_back(std::move(text));
  }
  return advice;
}

}  // namespace polyte::schedule
