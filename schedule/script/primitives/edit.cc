#include "schedule/script/primitives/edit.h"

#include <algorithm>

#include "schedule/script/primitives/rewriting.h"
#include "schedule/script/size_expr.h"
#include "schedule/state/fragments.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

// The loops around the statement that a `when` pins to their first or last iteration.
Names pinned_loops(const State& state, const std::string& statement) {
  Names pinned;
  const Leaf& leaf = leaf_of(state, statement);
  if (leaf.pins.empty()) return pinned;
  for (const Loop* loop : path_to(state.tree, statement))
    if (is_pinned(leaf, *loop)) pinned.push_back(loop->name);
  return pinned;
}

// Whether a recomputed statement below the loop still writes a tensor that all of its iterations
// share: each is to have storage of its own by a later stage, and races are judged then.
bool awaits_stage(const State& state, const Loop& loop) {
  for (const Leaf* leaf : leaves_of(loop.body)) {
    const ScheduledStatement& s = state.at(leaf->statement);
    if (s.lifted == 0 || s.kind == StatementKind::Copy) continue;
    // The prefix of a lifted statement has the names of the loops above its site: with the loop
    // in it, each iteration computes its own elements, in one tensor for all as long as that is
    // one of the basis.
    const auto prefix_end = s.body.iterators.begin() + s.lifted;
    if (std::find(s.body.iterators.begin(), prefix_end, loop.name) == prefix_end) continue;
    if (state.basis->find_buffer(s.body.writes.front().buffer)) return true;
  }
  return false;
}

}  // namespace

Refusal malformed(std::string headline) { return {RefusalKind::Malformed, std::move(headline)}; }
Refusal conservative(std::string headline) {
  return {RefusalKind::Conservative, std::move(headline)};
}

// An empty size is one that the line leaves out; `if_empty` is its default.
Result<std::int64_t, Refusal> evaluate(const Size& size, const PrimitiveContext& context,
                                       std::int64_t if_empty) {
  if (size.text.empty()) return if_empty;
  const auto value = evaluate_size(size.text, context.environment.values);
  if (!value) return malformed(value.error().reason);
  return *value;
}

// A statement's name comes first: `y` may name a statement and the tensor that it writes.
std::vector<std::string> select_statements(const State& state, const std::string& selector) {
  if (state.find(selector)) return {selector};
  std::vector<std::string> names;
  for (const ScheduledStatement& s : state.statements) {
    if (s.kind == StatementKind::Copy) continue;
    const ir::Statement& reference = state.basis->statement(s.reference);
    const bool writes = std::ranges::any_of(
        reference.writes, [&](const ir::Access& write) { return write.buffer == selector; });
    if (writes) names.push_back(s.body.name);
  }
  return names;
}

Result<std::string, Refusal> the_statement(const State& state, const std::string& name) {
  if (state.find(name)) return name;
  const std::vector<std::string> candidates = select_statements(state, name);
  if (!candidates.empty()) {
    std::string text = "no statement is called " + name + ": did you mean ";
    for (std::size_t i = 0; i < candidates.size(); ++i)
      text += (i == 0 ? "" : " or ") + candidates[i];
    return malformed(text + "?");
  }
  std::vector<std::string> known;
  for (const ScheduledStatement& s : state.statements) known.push_back(s.body.name);
  return malformed("no statement is called " + name + inlined_text(state, name) +
                   " (statements are " + join_words(known) + ")");
}

// The last fate counts: a name may have been given again.
std::string fate_of(const ScheduledStatement& s, const std::string& loop) {
  const auto last = std::find_if(s.lost.rbegin(), s.lost.rend(),
                                 [&](const LostLoop& each) { return each.loop == loop; });
  return last == s.lost.rend() ? "" : ": it " + last->fate;
}

std::string no_loop_text(const State& state, const std::string& statement,
                         const std::string& loop) {
  std::vector<std::string> left;
  for (const Loop* l : path_to(state.tree, statement)) left.push_back(l->name);
  return statement + " has no loop " + loop + fate_of(state.at(statement), loop) +
         " (its loops are " + (left.empty() ? "none" : join_words(left)) + ")";
}

// Loops are compared by node, so that one which many statements share is one candidate:
//
//   { i > { A; B }; i > C }      i: A:i or C:i, ambiguous    B:i, C:i: found
Result<const Loop*, Refusal> the_loop(const State& state, const LoopName& name) {
  std::vector<const Loop*> found;
  std::vector<std::string> candidates;
  std::vector<std::string> searched;
  if (!name.statement.empty()) {
    searched = select_statements(state, name.statement);
    if (searched.empty()) return the_statement(state, name.statement).error();
  } else {
    for (const Leaf* leaf : leaves_of(state.tree)) searched.push_back(leaf->statement);
  }
  for (const std::string& statement : searched) {
    for (const Loop* loop : path_to(state.tree, statement)) {
      if (loop->name != name.loop || std::ranges::find(found, loop) != found.end()) continue;
      found.push_back(loop);
      candidates.push_back(statement + ":" + loop->name);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return malformed(name.loop + " is ambiguous: say " + join_words(candidates));
  if (!name.statement.empty()) return malformed(no_loop_text(state, searched.front(), name.loop));
  std::string text = "no statement has a loop " + name.loop, fate;
  for (const ScheduledStatement& s : state.statements)
    if (fate.empty()) fate = fate_of(s, name.loop);
  std::vector<std::string> left;
  for (const Loop* loop : all_loops(state.tree))
    if (std::ranges::find(left, loop->name) == left.end()) left.push_back(loop->name);
  return malformed(text + fate + " (loops are " + join_words(left) + ")");
}

const Leaf& leaf_of(const State& state, const std::string& statement) {
  for (const Leaf* leaf : leaves_of(state.tree))
    if (leaf->statement == statement) return *leaf;
  POLYTE_CHECK(false, "statement '" + statement + "' is not in the tree");
}

bool is_pinned(const Leaf& leaf, const Loop& loop) {
  return std::ranges::any_of(leaf.pins, [&](const Pin& pin) { return pin.loop == loop.id; });
}

bool is_pinned(const State& state, const std::string& statement, const std::string& loop) {
  return has(pinned_loops(state, statement), loop);
}

// The loop of a `when` is not the statement's own: its row and the conditions on it go.
void unpin(State& state, const std::string& statement) {
  const Names pinned = pinned_loops(state, statement);
  ScheduledStatement& s = statement_of(state, statement);
  std::erase_if(s.rows, [&](const LoopRow& row) { return has(pinned, row.loop); });
  std::erase_if(s.loop_domain, [&](const ir::Constraint& c) { return uses_any(c.expr, pinned); });
}

// The inverse of leaf_said: names are unique on the path above a leaf, so that each means one
// loop.
Leaf leaf_meant(const NestLeaf& said, const std::vector<const Loop*>& path) {
  const auto id = [&](const std::string& name) {
    const auto loop = std::ranges::find_if(path, [&](const Loop* l) { return l->name == name; });
    POLYTE_CHECK(loop != path.end(), "'" + said.statement + "' is not below a loop '" + name + "'");
    return (*loop)->id;
  };
  Leaf leaf{said.statement, {}, {}};
  for (const When& when : said.when) leaf.pins.push_back({when.first, id(when.loop)});
  if (!said.at.empty()) leaf.at = id(said.at);
  if (!said.per.empty()) leaf.per = said.per == "root" ? kKernel : id(said.per);
  return leaf;
}

const LoopRow* row_of(const ScheduledStatement& s, const std::string& loop) {
  for (const LoopRow& row : s.rows)
    if (row.loop == loop) return &row;
  return nullptr;
}

std::vector<std::string> owned_loops(const State& state, const std::string& statement) {
  const Names pinned = pinned_loops(state, statement);
  std::vector<std::string> owned;
  for (const LoopRow& row : state.at(statement).rows)
    if (!has(pinned, row.loop)) owned.push_back(row.loop);
  return owned;
}

ScheduledStatement& statement_of(State& state, const std::string& name) {
  for (ScheduledStatement& s : state.statements)
    if (s.body.name == name) return s;
  POLYTE_CHECK(false, "no statement '" + name + "' in the state");
}

Tree with_leaf(const Tree& tree, const NestLeaf& said) {
  const Leaf meant = leaf_meant(said, path_to(tree, said.statement));
  return map_leaves(
      tree, [&](const Leaf& leaf) { return leaf.statement == said.statement ? meant : leaf; });
}

// Everything that names loops: rows and their cuts, the inverse, `counted` and `mapped` of the
// last map, and loop_domain.
void rename_loops(ScheduledStatement& s, const std::map<std::string, std::string>& names) {
  // Affine expressions take the new names as a substitution; `mapped` has loops as keys as
  // well.
  ir::Bindings renamed;
  for (const auto& [loop, name] : names) renamed[loop] = Affine::symbol(name);
  for (LoopRow& row : s.rows) {
    if (const auto name = names.find(row.loop); name != names.end()) row.loop = name->second;
    for (Affine& at : row.cuts) at = ir::substitute(at, renamed);
  }
  for (auto& [iterator, value] : s.inverse) value = ir::substitute(value, renamed);
  for (auto& [iterator, value] : s.counted) value = ir::substitute(value, renamed);
  ir::Bindings mapped;
  for (const auto& [loop, value] : s.mapped) {
    const auto name = names.find(loop);
    mapped[name == names.end() ? loop : name->second] = value;
  }
  s.mapped = std::move(mapped);
  for (ir::Constraint& c : s.loop_domain) c = ir::substitute(c, renamed);
}

// The point of a cut lies on the row, and a directive that replaces the row would drop it
// silently.
std::optional<Refusal> check_kept(const ScheduledStatement& s, const std::string& loop) {
  const LoopRow* row = row_of(s, loop);
  if (!row || row->cuts.empty()) return std::nullopt;
  return malformed(loop + " of " + s.body.name + " is cut at " + ir::to_string(row->cuts.front()) +
                   ", and would be gone: cut comes after");
}

// For directives that replace loops: neither may one of these be cut, nor may a cut's point be
// over one of them.
std::optional<Refusal> check_uncut(const ScheduledStatement& s, const Names& loops,
                                   const std::string& directive) {
  for (const LoopRow& row : s.rows)
    for (const Affine& at : row.cuts)
      if (has(loops, row.loop) || uses_any(at, loops))
        return malformed(row.loop + " is cut at " + ir::to_string(at) + ": " + directive +
                         " comes before");
  return std::nullopt;
}

ir::Bindings row_bindings(const ScheduledStatement& s) {
  ir::Bindings values;
  for (const LoopRow& row : s.rows) values[row.loop] = row.value;
  return values;
}

// Nodes without the loop below are returned as they are; comparing pointers tells.
Tree replace_loop(const Tree& tree, LoopId id, const std::function<Tree(const Loop&)>& f) {
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    if (loop->id == id) return f(*loop);
    Loop rebuilt = *loop;
    rebuilt.body = replace_loop(loop->body, id, f);
    return rebuilt.body == loop->body ? tree : make_loop(std::move(rebuilt));
  }
  if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    std::vector<Tree> children;
    for (const Tree& child : sequence->children) children.push_back(replace_loop(child, id, f));
    return children == sequence->children ? tree : make_sequence(std::move(children));
  }
  return tree;
}

std::vector<Tree> top_level(const Tree& tree) {
  if (!tree) return {};
  if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) return sequence->children;
  return {tree};
}

bool contains(const Tree& tree, const std::string& statement) {
  const std::vector<const Leaf*> leaves = leaves_of(tree);
  return std::ranges::any_of(leaves,
                             [&](const Leaf* leaf) { return leaf->statement == statement; });
}

Tree loops_around(State& state, const std::vector<std::string>& names, Tree body) {
  for (std::size_t i = names.size(); i > 0; --i)
    body = make_loop({.id = state.fresh_loop(), .name = names[i - 1], .body = std::move(body)});
  return body;
}

std::optional<Refusal> check_moved(const State& state, const std::vector<std::string>& moved,
                                   const PrimitiveContext& context) {
  return context.prover ? context.prover->check_order(state, moved) : std::nullopt;
}

std::optional<Refusal> check_races(const State& state, const std::vector<std::string>& statements,
                                   const PrimitiveContext& context) {
  if (!context.prover) return std::nullopt;
  std::vector<LoopId> loops;
  for (const Loop* loop : all_loops(state.tree)) {
    const bool touched = std::ranges::any_of(
        statements, [&](const std::string& name) { return contains(loop->body, name); });
    // Only loops around what the directive has moved can have a new race.
    if (is_concurrent(loop->kind) && touched && !awaits_stage(state, *loop))
      loops.push_back(loop->id);
  }
  return context.prover->check_independent(state, loops);
}

// Also loops that are shared although their kind does not say so: those over points of registers
// that lie spread over the lanes of a warp (state/fragments.h).
std::optional<Refusal> check_all_races(const State& state, Prover& prover) {
  std::vector<LoopId> loops;
  for (const Loop* loop : all_loops(state.tree))
    if (is_concurrent(loop->kind)) loops.push_back(loop->id);
  std::ranges::copy(loops_of_lanes(state), std::back_inserter(loops));
  return prover.check_independent(state, loops);
}

bool has(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool uses_any(const ir::Affine& e, const Names& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return e.uses(name); });
}

}  // namespace polyte::schedule
