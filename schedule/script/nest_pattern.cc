#include "schedule/script/nest_pattern.h"

#include <algorithm>
#include <span>

#include "schedule/script/holes.h"

namespace polyte::schedule {
namespace {

void collect(const NestTree& tree, std::set<std::string>& into) {
  if (const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op)) {
    if (!is_rest(tree)) into.insert(leaf->statement);
  } else if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op)) {
    collect(loop->body, into);
  } else {
    for (const NestTree& child : std::get<NestSequence>(tree->op).children) collect(child, into);
  }
}

using Nests = std::span<const NestTree>;

Nests children_of(const NestTree& tree) {
  if (const NestSequence* sequence = std::get_if<NestSequence>(&tree->op))
    return sequence->children;
  return {&tree, 1};
}

// Pattern against tree, node by node. A hole is tried at its shortest first: `... > body` is the
// body here, else below one loop more; `...` between braces leaves the remaining patterns to the
// children from here on, else from the next one on. A node that is no sequence counts as one of
// one child.
class Matcher {
 public:
  Matcher(bool strict, bool may_choose) : strict_(strict), may_choose_(may_choose) {}

  bool run(const NestTree& pattern, const NestTree& tree) const {
    if (is_rest(pattern)) return true;
    if (const NestLeaf* leaf = std::get_if<NestLeaf>(&pattern->op)) return is_leaf(*leaf, tree);
    if (const NestLoop* loop = std::get_if<NestLoop>(&pattern->op))
      return loop->name == kRestHole ? behind_gap(*loop, pattern, tree) : is_loop(*loop, tree);
    return are_children(children_of(pattern), children_of(tree));
  }

 private:
  bool strict_, may_choose_;  // of a sequence, one child that matches is enough

  static bool same(const std::vector<When>& a, const std::vector<When>& b) {
    const auto is_same = [](const When& x, const When& y) {
      return x.first == y.first && x.loop == y.loop;
    };
    return std::ranges::equal(a, b, is_same);
  }

  // A pattern that does not mention `when` and `at` accepts any, unless it is strict.
  bool is_leaf(const NestLeaf& wanted, const NestTree& tree) const {
    const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op);
    if (!leaf || leaf->statement != wanted.statement) return false;
    if (!strict_ && wanted.when.empty() && wanted.at.empty()) return true;
    return same(wanted.when, leaf->when) && wanted.at == leaf->at && wanted.per == leaf->per;
  }

  bool is_loop(const NestLoop& wanted, const NestTree& tree) const {
    const NestLoop* loop = std::get_if<NestLoop>(&tree->op);
    if (!loop) return chosen(tree, [&](const NestTree& child) { return is_loop(wanted, child); });
    const bool same_kind =
        loop->kind == wanted.kind || (!strict_ && wanted.kind == LoopKind::Serial);
    return loop->name == wanted.name && same_kind && run(wanted.body, loop->body);
  }

  // A pattern without statements looks for its loops in one child of a sequence, whichever has
  // them.
  template <class Test>
  bool chosen(const NestTree& tree, const Test& test) const {
    const NestSequence* sequence = std::get_if<NestSequence>(&tree->op);
    return may_choose_ && sequence && std::ranges::any_of(sequence->children, test);
  }

  // `...` stands for any number of loops: none, or the outermost one and again `...` below it.
  bool behind_gap(const NestLoop& gap, const NestTree& pattern, const NestTree& tree) const {
    if (run(gap.body, tree)) return true;
    if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op)) return run(pattern, loop->body);
    return chosen(tree, [&](const NestTree& child) { return run(pattern, child); });
  }

  // Children in order, where `...` stands for any number of them: none, or the first and again
  // `...`.
  bool are_children(Nests patterns, Nests trees) const {
    if (patterns.empty()) return trees.empty();
    if (is_rest(patterns.front()))
      return are_children(patterns.subspan(1), trees) ||
             (!trees.empty() && are_children(patterns, trees.subspan(1)));
    // Any other pattern stands for exactly one child.
    return !trees.empty() && run(patterns.front(), trees.front()) &&
           are_children(patterns.subspan(1), trees.subspan(1));
  }
};

}  // namespace

std::set<std::string> statements_in(const NestTree& tree) {
  std::set<std::string> statements;
  collect(tree, statements);
  return statements;
}

NestTree restricted(const NestTree& tree, const std::set<std::string>& statements) {
  if (const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op))
    return statements.contains(leaf->statement) ? tree : nullptr;
  if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op)) {
    const NestTree body = restricted(loop->body, statements);
    return body ? nest_path({{loop->name, loop->kind}}, body) : nullptr;
  }
  std::vector<NestTree> children;
  for (const NestTree& child : std::get<NestSequence>(tree->op).children)
    if (NestTree kept = restricted(child, statements)) children.push_back(std::move(kept));
  return children.empty() ? nullptr : nest_sequence(std::move(children));
}

// Statements that the pattern does not name are taken out of the kernel first, with loops that
// only they had: they may stand anywhere.
bool matches(const NestTree& pattern, const NestTree& kernel, bool strict) {
  const std::set<std::string> named = statements_in(pattern);
  if (!named.empty()) {
    const NestTree nest = restricted(kernel, named);
    return nest && statements_in(nest) == named && Matcher(strict, false).run(pattern, nest);
  }
  const Nests nests = children_of(kernel);
  return std::ranges::any_of(
      nests, [&](const NestTree& nest) { return Matcher(strict, true).run(pattern, nest); });
}

}  // namespace polyte::schedule
