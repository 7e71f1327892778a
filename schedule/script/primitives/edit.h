// What the primitives share: refusals, names of loops and statements, edits of the tree, and
// `settle`, which brings rows and placements in line with a tree that was edited.
#pragma once

#include <optional>

#include "schedule/script/primitives/primitives.h"
#include "schedule/state/digits.h"
#include "support/join_words.h"

namespace polyte::schedule {

using Names = std::vector<std::string>;

Refusal malformed(std::string headline);
Refusal conservative(std::string headline);

Result<std::int64_t, Refusal> evaluate(const Size& size, const PrimitiveContext& context,
                                       std::int64_t if_empty = 0);

// Statements that a selector means: the one of this name, or all that write the tensor
// (not its copies).
std::vector<std::string> select_statements(const State& state, const std::string& selector);
// The one statement of this name; for a tensor with two: "did you mean acc.init or acc.update?".
Result<std::string, Refusal> the_statement(const State& state, const std::string& name);
// The one loop that a name means; ambiguity lists the candidates, a loop that is gone lists
// those left.
Result<const Loop*, Refusal> the_loop(const State& state, const LoopName& name);
// "acc.update has no loop k: it was split into k.o and k.i (its loops are m, n, k.o, k.i)".
std::string no_loop_text(const State& state, const std::string& statement, const std::string& loop);
// ": it was split into k.o and k.i", where a loop that the statement had is gone; else nothing.
std::string fate_of(const ScheduledStatement& s, const std::string& loop);

const Leaf& leaf_of(const State& state, const std::string& statement);
bool is_pinned(const Leaf& leaf, const Loop& loop);  // by a `when`
bool is_pinned(const State& state, const std::string& statement, const std::string& loop);
// Takes the rows of its `when` loops from a statement: before its leaf is placed anew.
void unpin(State& state, const std::string& statement);
// The leaf that a person means, its loops being those of the path.
Leaf leaf_meant(const NestLeaf& said, const std::vector<const Loop*>& path);
// The tree with this leaf in the place of that of its statement.
Tree with_leaf(const Tree& tree, const NestLeaf& said);
const LoopRow* row_of(const ScheduledStatement& s, const std::string& loop);  // null if absent
// The loops a statement owns, outermost first: all rows but those of its `when`.
std::vector<std::string> owned_loops(const State& state, const std::string& statement);
ScheduledStatement& statement_of(State& state, const std::string& name);
ir::Bindings row_bindings(const ScheduledStatement& s);  // loop -> value over iterators

// k -> k.o, k.i in the rows, the inverse and the loop domain: k.o = (k - from) // factor, k.i the
// rest, with this tail; k.o keeps that of k.
void split_row(ScheduledStatement& s, const std::string& loop, std::int64_t factor,
               std::int64_t from = 0, std::optional<Tail> tail = {});
// Loops of the statement by other names: in its rows, inverse and loop domain.
void rename_loops(ScheduledStatement& s, const std::map<std::string, std::string>& names);
// Refuses to remove a loop that is cut.
std::optional<Refusal> check_kept(const ScheduledStatement& s, const std::string& loop);
// Refuses where one of these loops is cut, or the point of a cut is over one of them.
// `directive`: what has to come before the cut.
std::optional<Refusal> check_uncut(const ScheduledStatement& s, const Names& loops,
                                   const std::string& directive);

bool has(const Names& names, const std::string& name);
bool uses_any(const ir::Affine& e, const Names& names);

// Replaces the loop of this id by what `f` makes of it.
Tree replace_loop(const Tree& tree, LoopId id, const std::function<Tree(const Loop&)>& f);
// Children of the tree's root: those of its sequence, or the one node.
std::vector<Tree> top_level(const Tree& tree);
bool contains(const Tree& tree, const std::string& statement);
// A chain of serial loops with fresh ids around `body`.
Tree loops_around(State& state, const std::vector<std::string>& names, Tree body);

// First (least) or last value of a loop over all instances of these statements with the outer loops
// fixed; nullopt where it is not one affine of the outer loops.
std::optional<ir::Affine> value_over(const State& state, const std::vector<std::string>& owners,
                                     const std::string& loop, const LoopNames& outer, bool least,
                                     const ir::Bindings& known = {});

// After an edit of the tree: the rows of every statement in it in the order of its path, the rows
// of `when` loops computed anew, shared loops counted alike by their owners, no first or last
// of a parallel loop.
std::optional<Refusal> settle(State& state);

// Obligations; nothing without a prover. `moved` as Prover::check_order has it.
std::optional<Refusal> check_moved(const State& state, const std::vector<std::string>& moved,
                                   const PrimitiveContext& context);
// Parallel and vector loops above or below these statements. Loops around a recomputed statement
// whose tensor is still shared by all iterations wait until it is staged; replay checks them at the
// end at the latest.
std::optional<Refusal> check_races(const State& state, const std::vector<std::string>& statements,
                                   const PrimitiveContext& context);
std::optional<Refusal> check_all_races(const State& state, Prover& prover);

}  // namespace polyte::schedule
