// Tree: the order of execution, immutable and small. Loops, sequences and leaves; attributes live
// on the nodes and survive every rewrite. The values that a loop takes follow from the statements'
// rows (state.h), not from the tree.
//
//   Loop L      the values are the union, over the leaves below that own a row named L, of that
//               row's values among the instances alive at this prefix, ascending; each value keeps
//               only its instances
//   Sequence    children in order
//   Leaf S      the instance of S that the loops above have singled out
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::schedule {

using ir::LoopKind;
using ir::Memory;

// A loop of a State, whatever it is called: given out once (State::fresh_loop), kept by every
// rewrite that keeps the loop.
enum class LoopId : int {};
inline constexpr LoopId kKernel{-1};  // in the place of a loop: around all of them

struct Node;
using Tree = std::shared_ptr<const Node>;

struct Loop {
  LoopId id{};
  std::string name;  // unique on every path from the root; two branches may use one name
  LoopKind kind = LoopKind::Serial;
  Tree body;
};
struct Sequence {
  std::vector<Tree> children;  // two or more; none is a Sequence
};
// `when first L` (`last`): S is below L without an iterator that L counts, and runs in its
// first (last) iteration only.
struct Pin {
  bool first = true;
  LoopId loop = kKernel;  // L
};
// Where its statement runs, by loops above it.
struct Leaf {
  std::string statement;
  std::vector<Pin> pins;
  // compute_at: the loop at whose every iteration it is recomputed; none: it is not.
  std::optional<LoopId> at;
  // A sliding window: what was made since this loop (or the kernel) began is not made again;
  // none: every iteration makes all that it needs.
  std::optional<LoopId> per = {};
};
struct Node {
  std::variant<Loop, Sequence, Leaf> op;
};

Tree make_loop(Loop loop);
// Flattens; one child is returned itself; never empty.
Tree make_sequence(std::vector<Tree> children);
Tree make_leaf(Leaf leaf);

// The loops above a statement's leaf, outermost first. InternalError if the statement is not
// in the tree.
std::vector<const Loop*> path_to(const Tree& tree, const std::string& statement);
const Loop* find_loop(const Tree& tree, LoopId id);    // null if absent
std::vector<const Leaf*> leaves_of(const Tree& tree);  // in text order
std::vector<const Loop*> all_loops(const Tree& tree);  // the same
std::vector<std::string> statements_below(const Tree& tree, LoopId id);
// `f` gets each loop with its body already rewritten. An empty tree stays empty.
Tree map_loops(const Tree& tree, const std::function<Loop(const Loop&)>& f);
Tree map_leaves(const Tree& tree, const std::function<Leaf(const Leaf&)>& f);
// The tree without the leaf (loops and sequences left empty go too); null when nothing is left.
Tree without_statement(const Tree& tree, const std::string& statement);
// The tree with each loop of `now` that a leaf refers to (pins, at, per) replaced by its other
// loop.
Tree with_other_loops(const Tree& tree, const std::map<LoopId, LoopId>& now);
std::string print_loop(const std::string& name, LoopKind kind);  // n, par n, [n], <n>, block n
// The kind that a word before a loop's name gives it: par, block, thread, warp, lane.
std::optional<LoopKind> kind_of_word(const std::string& word);
// Nest text of the tree, as `nest` has it: par n.o > k.o > { tile ; ... }. A leaf in a part of
// a tree may refer to loops around that part: their names come from `root`.
std::string print_nest(const Tree& tree);
std::string print_nest(const Tree& part, const Tree& root);
// The same, a line for each nest of the root; empty for no tree.
std::string print_nests(const Tree& tree);

}  // namespace polyte::schedule
