// settle, and the values of loops in whose first or last iteration something runs (edit.h).
#include <algorithm>

#include "ir/facts.h"
#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

// Statements below `loop` that own it and have instances, without `except`.
std::vector<std::string> other_owners(const State& state, const Loop& loop,
                                      const std::string& except) {
  std::vector<std::string> owners;
  for (const Leaf* leaf : leaves_of(loop.body)) {
    if (leaf->statement == except || is_pinned(*leaf, loop)) continue;
    if (row_of(state.at(leaf->statement), loop.name) && !is_empty(state, state.at(leaf->statement)))
      owners.push_back(leaf->statement);
  }
  return owners;
}

// The lesser (or greater) of two values over the loops above, where that can be proved.
std::optional<Affine> combined(const State& state, const ScheduledStatement& s,
                               const LoopNames& outer, const Affine& a, const Affine& b,
                               bool least) {
  if (a == b || proves(state, s, outer, ir::at_least(b, a))) return least ? a : b;
  if (proves(state, s, outer, ir::at_least(a, b))) return least ? b : a;
  return std::nullopt;
}

Refusal no_single_value(const std::string& statement, const Loop& loop, bool first,
                        const std::string& why) {
  return conservative("the " + std::string(first ? "first " : "last ") + loop.name + " for " +
                      statement + " " + why);
}

// The sizes of the Program that, were they 1 or more, would prove it.
std::string lacking_sizes(const State& state, const std::string& statement, const LoopNames& outer,
                          const ir::Constraint& wanted) {
  std::vector<std::vector<std::string>> choices;  // each by itself first
  for (const std::string& param : state.basis->params) choices.push_back({param});
  choices.push_back(state.basis->params);
  for (const std::vector<std::string>& params : choices) {
    auto program = std::make_shared<ir::Program>(*state.basis);
    for (const std::string& param : params)
      program->context.push_back(ir::at_least(Affine::symbol(param), 1));
    State larger = state;
    larger.basis = program;
    if (!proves(larger, larger.at(statement), outer, wanted)) continue;
    std::string text;
    for (const std::string& param : params) text += (text.empty() ? "" : ", ") + param + " >= 1";
    return " (there is one where the Program's header says `where " + text + "`)";
  }
  return "";
}

// The value of the loop for the statement that is placed in its first or last iteration: an affine
// over those above it.
Result<Affine, Refusal> placed_value(const State& state, const std::string& statement,
                                     const Loop& loop, bool in_first, const LoopNames& outer,
                                     const ir::Bindings& known) {
  const std::vector<std::string> owners = other_owners(state, loop, statement);
  // No other statement counts the loop: it runs once, at 0.
  if (owners.empty()) return Affine(0);
  const auto first = value_over(state, owners, loop.name, outer, true, known);
  // Where the others have no iteration the loop still runs once for this statement, at the
  // first value. The last value would be less than the first one there: it is used only if
  // there is an iteration.
  if (in_first && first) return *first;
  const auto last = value_over(state, owners, loop.name, outer, false, known);
  if (!first || !last)
    return no_single_value(statement, loop, in_first,
                           "is not one affine value of the loops above it");
  if (!proves(state, state.at(statement), outer, ir::at_least(*last, *first)))
    return no_single_value(statement, loop, in_first,
                           "may not exist: " + join_words(owners) + " may have no iteration there" +
                               lacking_sizes(state, statement, outer, ir::at_least(*last, *first)));
  return *last;
}

// `known` has the values of pins further out, as the first j may depend on which k it is the
// first in.
std::optional<Refusal> pin(State& state, const Leaf& leaf) {
  LoopNames outer;
  ir::Bindings known;  // the loops placed so far
  for (const Loop* loop : path_to(state.tree, leaf.statement)) {
    for (const Pin& each : leaf.pins) {
      if (each.loop != loop->id) continue;
      auto value = placed_value(state, leaf.statement, *loop, each.first, outer, known);
      if (!value) return value.error();
      ScheduledStatement& s = statement_of(state, leaf.statement);
      s.rows.push_back({loop->name, ir::substitute(*value, row_bindings(s))});
      s.loop_domain.push_back(ir::equal(Affine::symbol(loop->name), *value));
      known[loop->name] = *value;
    }
    outer.insert(loop->name);
  }
  return std::nullopt;
}

// Rows in the order of the path; a row without a loop is a broken promise of the primitive.
void sort_rows(ScheduledStatement& s, const std::vector<const Loop*>& path) {
  std::vector<LoopRow> sorted;
  for (const Loop* loop : path) {
    const LoopRow* row = row_of(s, loop->name);
    if (row) sorted.push_back(*row);
  }
  s.rows = std::move(sorted);
}

// A row with the statement's iterators replaced by positions, to compare rows of two statements: in
// the terms of the last map, if there was one, so that what is shifted or skewed compares by what
// was done to it since.
class Signatures {
 public:
  explicit Signatures(const State& state) : state_(state) {}

  Affine of(const ScheduledStatement& s, const Affine& value) {
    ir::Bindings positions;
    if (!s.counted.empty()) {
      const Affine since = since_map(s, value);
      if (since.as_symbol() || since.is_constant()) return Affine::symbol("_0");
      std::set<std::string> loops;
      since.collect_symbols(loops);
      for (const std::string& loop : loops) {
        const std::string position = "_" + std::to_string(positions.size());
        positions[loop] = Affine::symbol(position);
      }
      return ir::substitute(since, positions);
    }
    int next = 0;
    for (const std::string& iterator : s.body.iterators)
      if (value.uses(iterator)) positions[iterator] = Affine::symbol("_" + std::to_string(next++));
    return ir::substitute(value, positions);
  }

  // Whether what was done to the loops of the last map in `s`, done to those of `other`, gives
  // `value`: after a map that has 2*t for both, a tile of 32 makes t//16 of one and (i + 2*t)//32
  // of the other.
  bool is_alike(const ScheduledStatement& s, const Affine& of_s, const ScheduledStatement& other,
                const Affine& value) {
    if (s.counted.empty() || other.mapped.empty()) return false;
    const Affine since = since_map(s, of_s);
    std::set<std::string> loops;
    since.collect_symbols(loops);
    const auto is_mapped = [&](const std::string& loop) { return other.mapped.contains(loop); };
    return std::ranges::all_of(loops, is_mapped) && ir::substitute(since, other.mapped) == value;
  }

 private:
  const State& state_;
  // Ranges of loops by statement, kept as they are the most expensive part.
  std::map<std::string, ir::Ranges> ranges_;

  Affine since_map(const ScheduledStatement& s, const Affine& value) {
    return ir::simplified(ir::substitute(value, s.counted), ranges_of(s));
  }

  const ir::Ranges& ranges_of(const ScheduledStatement& s) {
    const auto [slot, is_new] = ranges_.try_emplace(s.body.name);
    if (is_new) slot->second = loop_ranges(state_, s);
    return slot->second;
  }
};

// Rows are alike by position, or as they stand: y[i, j] and z[j, i] count i*40 + j both, by
// iterators in another order.
std::optional<Refusal> check_shared_loop(const State& state, const Loop& loop,
                                         Signatures& signatures) {
  std::optional<Affine> value, as_it_stands;
  std::string owner;
  for (const Leaf* leaf : leaves_of(loop.body)) {
    const ScheduledStatement& s = state.at(leaf->statement);
    const LoopRow* row = row_of(s, loop.name);
    if (!row || is_pinned(*leaf, loop) || row->value.as_symbol() || s.kind == StatementKind::Copy)
      continue;
    const Affine own = signatures.of(s, row->value);
    if (own.as_symbol()) continue;
    if (value && *value != own && *as_it_stands != row->value &&
        !signatures.is_alike(state.at(owner), *as_it_stands, s, row->value) &&
        !signatures.is_alike(s, row->value, state.at(owner), *as_it_stands))
      return malformed("a shared loop needs the same split: " + loop.name + " is " +
                       ir::to_string(row_of(state.at(owner), loop.name)->value) + " for " + owner +
                       " and " + ir::to_string(row->value) + " for " + leaf->statement);
    value = own;
    as_it_stands = row->value;
    owner = leaf->statement;
  }
  return std::nullopt;
}

// The point of a cut has to be over loops outside of the one that it cuts.
std::optional<Refusal> check_cuts(const State& state) {
  for (const Leaf* leaf : leaves_of(state.tree)) {
    LoopNames outside(state.reference->params.begin(), state.reference->params.end());
    for (const LoopRow& row : state.at(leaf->statement).rows) {
      for (const Affine& at : row.cuts) {
        std::set<std::string> symbols;
        at.collect_symbols(symbols);
        if (!std::ranges::includes(outside, symbols))
          return malformed(row.loop + " of " + leaf->statement + " is cut at " + ir::to_string(at) +
                           ", and would be outside a loop of that point: cut comes after");
      }
      outside.insert(row.loop);
    }
  }
  return std::nullopt;
}

std::optional<Refusal> check_placed_kinds(const State& state) {
  for (const Leaf* leaf : leaves_of(state.tree))
    for (const Loop* loop : path_to(state.tree, leaf->statement))
      if (is_pinned(*leaf, *loop) && is_concurrent(loop->kind))
        return malformed(leaf->statement + " runs in the first or last iteration of " + loop->name +
                         ", and " + loop->name + " is " + ir::description(loop->kind) +
                         ": its iterations have no order");
  return std::nullopt;
}

// A buffer that is allocated further out is shared by the iterations of the loops in between.
std::optional<Refusal> check_allocation(const State& state, const StagedBuffer& buffer) {
  if (buffer.alloc_loop == StagedBuffer::kAtScope) return std::nullopt;
  const Loop* outer = find_loop(state.tree, buffer.alloc_loop);
  if (buffer.alloc_loop != kKernel && (!outer || !find_loop(outer->body, buffer.scope_loop)))
    return malformed(buffer.name +
                     " is hoisted to a loop that its own would leave: hoist_storage comes after");
  for (const Loop* loop : all_loops(outer ? outer->body : state.tree)) {
    const bool is_between =
        loop->id == buffer.scope_loop || find_loop(loop->body, buffer.scope_loop);
    if (is_between && is_concurrent(loop->kind))
      return malformed(buffer.name + " is allocated outside " + loop->name + ", and " + loop->name +
                       " is " + ir::description(loop->kind) + ": its iterations would share it");
  }
  return std::nullopt;
}

std::optional<Refusal> check_scopes(const State& state) {
  for (const StagedBuffer& buffer : state.staged) {
    if (buffer.scope_loop == kKernel) continue;
    const Loop* scope = find_loop(state.tree, buffer.scope_loop);
    for (const Leaf* leaf : leaves_of(state.tree)) {
      const std::vector<AccessRef> accesses = accesses_of(state.at(leaf->statement));
      const bool touches = std::ranges::any_of(
          accesses, [&](const AccessRef& a) { return a.access.buffer == buffer.name; });
      if (touches && (!scope || !contains(scope->body, leaf->statement)))
        return malformed(buffer.of + " is staged at a loop that " + leaf->statement +
                         " would leave: stage comes after");
    }
    if (auto refusal = check_allocation(state, buffer)) return refusal;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ir::Affine> value_over(const State& state, const std::vector<std::string>& owners,
                                     const std::string& loop, const LoopNames& outer, bool least,
                                     const ir::Bindings& known) {
  std::optional<ir::Affine> value;
  for (const std::string& owner : owners) {
    const ScheduledStatement& s = state.at(owner);
    const auto own = least ? first_value(state, s, loop, outer, known)
                           : last_value(state, s, loop, outer, known);
    if (!own) return std::nullopt;
    value = value ? combined(state, s, outer, *value, *own, least) : own;
    if (!value) return std::nullopt;
  }
  return value;
}

// The tree is right, the rows are not yet: placed statements lose the rows of loops that they do
// not own, rows are brought into the order of the paths, and then each placed statement gets the
// first or last value of its loops, which the others' rows now decide. What the tree as a whole has
// to satisfy is checked at the end.
std::optional<Refusal> settle(State& state) {
  std::vector<Leaf> placed;
  std::vector<std::string> present;
  for (const Leaf* leaf : leaves_of(state.tree)) {
    if (!leaf->pins.empty()) placed.push_back(*leaf);
    present.push_back(leaf->statement);
  }
  for (const Leaf& leaf : placed) unpin(state, leaf.statement);
  for (const std::string& name : present)
    sort_rows(statement_of(state, name), path_to(state.tree, name));
  for (const Leaf& leaf : placed) {
    if (auto refusal = pin(state, leaf)) return refusal;
    sort_rows(statement_of(state, leaf.statement), path_to(state.tree, leaf.statement));
  }
  Signatures signatures(state);
  for (const Loop* loop : all_loops(state.tree))
    if (auto refusal = check_shared_loop(state, *loop, signatures)) return refusal;
  if (auto refusal = check_scopes(state)) return refusal;
  if (auto refusal = check_cuts(state)) return refusal;
  return check_placed_kinds(state);
}

}  // namespace polyte::schedule
