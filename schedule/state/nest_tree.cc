#include "schedule/state/nest_tree.h"

#include "support/error.h"

namespace polyte::schedule {

NestTree nest_statement(std::string statement, std::vector<When> when) {
  return std::make_shared<const NestNode>(
      NestNode{NestLeaf{std::move(statement), std::move(when)}});
}

NestTree nest_sequence(std::vector<NestTree> children) {
  POLYTE_CHECK(!children.empty(), "braces of a nest hold a statement");
  std::vector<NestTree> flat;  // braces directly within braces mean nothing
  for (NestTree& child : children) {
    const NestSequence* inner = std::get_if<NestSequence>(&child->op);
    if (inner)
      flat.insert(flat.end(), inner->children.begin(), inner->children.end());
    else
      flat.push_back(std::move(child));
  }
  if (flat.size() == 1) return flat.front();
  return std::make_shared<const NestNode>(NestNode{NestSequence{std::move(flat)}});
}

NestTree nest_path(const NestPath& path, NestTree body) {
  for (auto loop = path.rbegin(); loop != path.rend(); ++loop)
    body = std::make_shared<const NestNode>(
        NestNode{NestLoop{loop->name, loop->kind, std::move(body)}});
  return body;
}

// From ids back to names: ids outlive every rename, a person and the text know loops by name.
NestLeaf leaf_said(const Leaf& leaf, const Tree& root) {
  const auto name = [&](LoopId id) {
    if (id == kKernel) return std::string("root");
    const Loop* loop = find_loop(root, id);
    POLYTE_CHECK(loop != nullptr,
                 "the leaf '" + leaf.statement + "' means a loop that is not in the tree");
    return loop->name;
  };
  NestLeaf said{leaf.statement};
  for (const Pin& pin : leaf.pins) said.when.push_back({pin.first, name(pin.loop)});
  if (leaf.at) said.at = name(*leaf.at);
  if (leaf.per) said.per = name(*leaf.per);
  return said;
}

NestTree nest_of(const Tree& part, const Tree& root) {
  if (const Leaf* leaf = std::get_if<Leaf>(&part->op))
    return std::make_shared<const NestNode>(NestNode{leaf_said(*leaf, root)});
  if (const Loop* loop = std::get_if<Loop>(&part->op))
    return nest_path({{loop->name, loop->kind}}, nest_of(loop->body, root));
  std::vector<NestTree> children;
  for (const Tree& child : std::get<Sequence>(part->op).children)
    children.push_back(nest_of(child, root));
  return nest_sequence(std::move(children));
}

NestPath joined(NestPath outer, const NestPath& inner) {
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

std::string print(const std::vector<When>& when) {
  std::string text;
  for (const When& each : when)
    text += std::string(text.empty() ? " when " : " and ") + (each.first ? "first " : "last ") +
            each.loop;
  return text;
}

namespace {

// y at u.i once per u.o when last k.o
std::string print(const NestLeaf& leaf) {
  std::string text = leaf.statement;
  if (!leaf.at.empty()) text += " at " + leaf.at;
  if (!leaf.per.empty()) text += " once per " + leaf.per;
  return text + print(leaf.when);
}

}  // namespace

std::string print(const NestTree& tree) {
  if (const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op)) return print(*leaf);
  if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op))
    return print_loop(loop->name, loop->kind) + " > " + print(loop->body);
  std::string text;
  for (const NestTree& child : std::get<NestSequence>(tree->op).children)
    text += (text.empty() ? "{ " : "; ") + print(child);
  return text + " }";
}

std::string tiles_of(const std::string& loop) { return loop + ".o"; }
std::string within_tile(const std::string& loop) { return loop + ".i"; }

}  // namespace polyte::schedule
