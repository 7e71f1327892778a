#include "schedule/state/tree.h"

#include <algorithm>

#include "schedule/state/nest_tree.h"
#include "support/error.h"

namespace polyte::schedule {

namespace {

// Depth first. `path` holds the loops from the root to the node in hand; on the way back a loop
// is popped only if the leaf was not below it, so that what remains is the leaf's path.
void find_path(const Tree& tree, const std::string& statement, std::vector<const Loop*>& path,
               bool& found) {
  if (found) return;
  if (const Leaf* leaf = std::get_if<Leaf>(&tree->op)) {
    found = leaf->statement == statement;
  } else if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    for (const Tree& child : sequence->children) find_path(child, statement, path, found);
  } else {
    const Loop& loop = std::get<Loop>(tree->op);
    path.push_back(&loop);
    find_path(loop.body, statement, path, found);
    if (!found) path.pop_back();
  }
}

// Children in order: that of the text, in which the leaves also run within one iteration of the
// loops that they share.
void collect_leaves(const Tree& tree, std::vector<const Leaf*>& leaves) {
  if (const Leaf* leaf = std::get_if<Leaf>(&tree->op)) {
    leaves.push_back(leaf);
  } else if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    for (const Tree& child : sequence->children) collect_leaves(child, leaves);
  } else {
    collect_leaves(std::get<Loop>(tree->op).body, leaves);
  }
}

void collect_loops(const Tree& tree, std::vector<const Loop*>& into) {
  if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    for (const Tree& child : sequence->children) collect_loops(child, into);
  } else if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    into.push_back(loop);
    collect_loops(loop->body, into);
  }
}

}  // namespace

Tree make_loop(Loop loop) { return std::make_shared<const Node>(Node{std::move(loop)}); }

// One normal form per order: { A; { B; C } } becomes { A; B; C }. Two statements that run one
// after the other are then children of one node, where `merge` and `distribute` look for them.
Tree make_sequence(std::vector<Tree> children) {
  std::vector<Tree> flat;
  for (Tree& child : children) {
    if (const Sequence* inner = std::get_if<Sequence>(&child->op))
      flat.insert(flat.end(), inner->children.begin(), inner->children.end());
    else
      flat.push_back(std::move(child));
  }
  POLYTE_CHECK(!flat.empty(), "a sequence needs a child");
  if (flat.size() == 1) return flat.front();
  return std::make_shared<const Node>(Node{Sequence{std::move(flat)}});
}

Tree make_leaf(Leaf leaf) { return std::make_shared<const Node>(Node{std::move(leaf)}); }

std::vector<const Loop*> path_to(const Tree& tree, const std::string& statement) {
  std::vector<const Loop*> path;
  bool found = false;
  if (tree) find_path(tree, statement, path, found);
  POLYTE_CHECK(found, "statement '" + statement + "' is not in the tree");
  return path;
}

const Loop* find_loop(const Tree& tree, LoopId id) {
  if (!tree) return nullptr;
  if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    for (const Tree& child : sequence->children)
      if (const Loop* loop = find_loop(child, id)) return loop;
  } else if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    return loop->id == id ? loop : find_loop(loop->body, id);
  }
  return nullptr;
}

std::vector<const Leaf*> leaves_of(const Tree& tree) {
  std::vector<const Leaf*> leaves;
  if (tree) collect_leaves(tree, leaves);
  return leaves;
}

std::vector<const Loop*> all_loops(const Tree& tree) {
  std::vector<const Loop*> loops;
  if (tree) collect_loops(tree, loops);
  return loops;
}

std::vector<std::string> statements_below(const Tree& tree, LoopId id) {
  const Loop* loop = find_loop(tree, id);
  POLYTE_CHECK(loop != nullptr, "no loop of this id in the tree");
  std::vector<std::string> names;
  for (const Leaf* leaf : leaves_of(loop->body)) names.push_back(leaf->statement);
  return names;
}

// Bottom-up: `f` sees a loop whose body is rebuilt already. Nodes are immutable and shared
// between States, so every loop above a change is made anew; its id, not its address, says
// which loop it is.
Tree map_loops(const Tree& tree, const std::function<Loop(const Loop&)>& f) {
  if (!tree) return tree;  // nothing is left of the Program
  if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
    std::vector<Tree> children;
    for (const Tree& child : sequence->children) children.push_back(map_loops(child, f));
    return make_sequence(std::move(children));
  }
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    Loop rebuilt = *loop;
    rebuilt.body = map_loops(loop->body, f);
    return make_loop(f(rebuilt));
  }
  return tree;
}

Tree map_leaves(const Tree& tree, const std::function<Leaf(const Leaf&)>& f) {
  if (!tree) return tree;
  if (const Leaf* leaf = std::get_if<Leaf>(&tree->op)) return make_leaf(f(*leaf));
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    Loop rebuilt = *loop;
    rebuilt.body = map_leaves(loop->body, f);
    return make_loop(std::move(rebuilt));
  }
  std::vector<Tree> children;
  for (const Tree& child : std::get<Sequence>(tree->op).children)
    children.push_back(map_leaves(child, f));
  return make_sequence(std::move(children));
}

// After a merge two loops are one, which has one of their ids. `now` maps the other id to it,
// and a leaf's `when first k.o`, `at k.o` or `once per k.o` follows.
Tree with_other_loops(const Tree& tree, const std::map<LoopId, LoopId>& now) {
  const auto replace = [&](LoopId& loop) {
    if (const auto other = now.find(loop); other != now.end()) loop = other->second;
  };
  return map_leaves(tree, [&](Leaf leaf) {
    for (Pin& pin : leaf.pins) replace(pin.loop);
    if (leaf.at) replace(*leaf.at);
    if (leaf.per) replace(*leaf.per);
    return leaf;
  });
}

// Where nothing changes the node itself is returned: unchanged subtrees stay shared, and
// comparing pointers tells whether the leaf was below. Loops left empty go, and braces around
// one child:
//
//   i > { j > A; B }   without A   i > B
//   { i > j > A; B }   without A   B
Tree without_statement(const Tree& tree, const std::string& statement) {
  if (const Leaf* leaf = std::get_if<Leaf>(&tree->op))
    return leaf->statement == statement ? nullptr : tree;
  if (const Loop* loop = std::get_if<Loop>(&tree->op)) {
    Loop rebuilt = *loop;
    rebuilt.body = without_statement(loop->body, statement);
    if (rebuilt.body == loop->body) return tree;
    return rebuilt.body ? make_loop(std::move(rebuilt)) : nullptr;
  }
  std::vector<Tree> children;
  bool changed = false;
  for (const Tree& child : std::get<Sequence>(tree->op).children) {
    Tree kept = without_statement(child, statement);
    changed |= kept != child;
    if (kept) children.push_back(std::move(kept));
  }
  if (!changed) return tree;
  return children.empty() ? nullptr : make_sequence(std::move(children));
}

std::string print_loop(const std::string& name, LoopKind kind) {
  switch (kind) {
    case LoopKind::Parallel:
      return "par " + name;
    case LoopKind::Block:
    case LoopKind::Thread:
    case LoopKind::Warp:
    case LoopKind::Lane:
      return ir::to_string(kind) + " " + name;
    case LoopKind::Unrolled:
      return "[" + name + "]";
    case LoopKind::Vector:
      return "<" + name + ">";
    case LoopKind::Serial:
      break;
  }
  return name;
}

// The other kinds are written with brackets instead of a word: [n] is unrolled, <n> a vector.
std::optional<LoopKind> kind_of_word(const std::string& word) {
  if (word == "par") return LoopKind::Parallel;
  const auto* kind = std::ranges::find_if(
      ir::kLoopKinds, [&](LoopKind k) { return ir::is_of_device(k) && ir::to_string(k) == word; });
  return kind == std::end(ir::kLoopKinds) ? std::nullopt : std::optional(*kind);
}

std::string print_nest(const Tree& tree) { return print(nest_of(tree, tree)); }
std::string print_nest(const Tree& part, const Tree& root) { return print(nest_of(part, root)); }

std::string print_nests(const Tree& tree) {
  if (!tree) return "";
  const auto* sequence = std::get_if<Sequence>(&tree->op);
  if (!sequence) return print_nest(tree) + "\n";
  std::string text;
  for (const Tree& child : sequence->children) text += print_nest(child) + "\n";
  return text;
}

}  // namespace polyte::schedule
