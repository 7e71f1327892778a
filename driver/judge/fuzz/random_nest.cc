#include "driver/judge/fuzz/random_nest.h"

#include <algorithm>

namespace polyte::fuzz {
namespace {

using namespace schedule;

// A nest that can be edited in place: NestTree is shared and never changed.
struct Draft {
  enum class Kind { Loop, Sequence, Leaf } kind = Kind::Leaf;
  std::string loop;
  LoopKind loop_kind = LoopKind::Serial;
  NestLeaf leaf;
  std::vector<Draft> children;  // one of a loop, two or more of a sequence
};

Draft draft_of(const NestTree& tree) {
  Draft draft;
  if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op)) {
    draft = {Draft::Kind::Loop, loop->name, loop->kind, {}, {draft_of(loop->body)}};
  } else if (const NestSequence* sequence = std::get_if<NestSequence>(&tree->op)) {
    draft.kind = Draft::Kind::Sequence;
    for (const NestTree& child : sequence->children) draft.children.push_back(draft_of(child));
  } else {
    draft.leaf = std::get<NestLeaf>(tree->op);
  }
  return draft;
}

NestTree nest_of(const Draft& draft) {
  NestNode node;
  if (draft.kind == Draft::Kind::Loop) {
    node.op = NestLoop{draft.loop, draft.loop_kind, nest_of(draft.children[0])};
  } else if (draft.kind == Draft::Kind::Sequence) {
    NestSequence sequence;
    for (const Draft& child : draft.children) sequence.children.push_back(nest_of(child));
    node.op = std::move(sequence);
  } else {
    node.op = draft.leaf;
  }
  return std::make_shared<const NestNode>(std::move(node));
}

std::vector<Draft*> collect(Draft& draft, Draft::Kind kind) {
  std::vector<Draft*> found;
  if (draft.kind == kind) found.push_back(&draft);
  for (Draft& child : draft.children)
    for (Draft* below : collect(child, kind)) found.push_back(below);
  return found;
}

// Sequences of one child and sequences in sequences go; loops without a child too. False
// if nothing is left.
bool tidy(Draft& draft) {
  if (draft.kind == Draft::Kind::Leaf) return true;
  std::vector<Draft> kept;
  for (Draft& child : draft.children) {
    if (!tidy(child)) continue;
    if (draft.kind == Draft::Kind::Sequence && child.kind == Draft::Kind::Sequence)
      kept.insert(kept.end(), child.children.begin(), child.children.end());
    else
      kept.push_back(std::move(child));
  }
  if (kept.empty()) return false;
  if (draft.kind == Draft::Kind::Sequence && kept.size() == 1) {
    Draft only = std::move(kept[0]);
    draft = std::move(only);
  } else {
    draft.children = std::move(kept);
  }
  return true;
}

// Each edit may make an illegal nest, and some are meant to.
void swap_loops(Draft& root, Random& random) {
  std::vector<Draft*> outer;
  for (Draft* loop : collect(root, Draft::Kind::Loop))
    if (loop->children[0].kind == Draft::Kind::Loop) outer.push_back(loop);
  if (outer.empty()) return;
  Draft& chosen = *random.pick(outer);
  std::swap(chosen.loop, chosen.children[0].loop);
  std::swap(chosen.loop_kind, chosen.children[0].loop_kind);
}

void change_kind(Draft& root, Random& random) {
  static const std::vector<LoopKind> kKinds = {LoopKind::Serial, LoopKind::Parallel,
                                               LoopKind::Vector, LoopKind::Unrolled};
  if (const auto loops = collect(root, Draft::Kind::Loop); !loops.empty())
    random.pick(loops)->loop_kind = random.pick(kKinds);
}

// m > { i > A; i > B }   ->   m > i > { A; B }
void join_siblings(Draft& root, Random& random) {
  std::vector<std::pair<Draft*, std::size_t>> pairs;
  for (Draft* sequence : collect(root, Draft::Kind::Sequence))
    for (std::size_t i = 0; i + 1 < sequence->children.size(); ++i) {
      const Draft &a = sequence->children[i], &b = sequence->children[i + 1];
      if (a.kind == Draft::Kind::Loop && b.kind == Draft::Kind::Loop && a.loop == b.loop)
        pairs.emplace_back(sequence, i);
    }
  if (pairs.empty()) return;
  const auto [sequence, i] = random.pick(pairs);
  Draft& first = sequence->children[i];
  Draft body{Draft::Kind::Sequence,
             "",
             LoopKind::Serial,
             {},
             {first.children[0], sequence->children[i + 1].children[0]}};
  first.children = {std::move(body)};
  sequence->children.erase(sequence->children.begin() + static_cast<std::ptrdiff_t>(i) + 1);
}

// The reverse: m > i > { A; B }   ->   m > { i > A; i > B }
void part_siblings(Draft& root, Random& random) {
  std::vector<Draft*> shared;
  for (Draft* loop : collect(root, Draft::Kind::Loop))
    if (loop->children[0].kind == Draft::Kind::Sequence) shared.push_back(loop);
  if (shared.empty()) return;
  Draft& loop = *random.pick(shared);
  Draft parted{Draft::Kind::Sequence, "", LoopKind::Serial, {}, {}};
  for (Draft& child : loop.children[0].children)
    parted.children.push_back(
        {Draft::Kind::Loop, loop.loop, loop.loop_kind, {}, {std::move(child)}});
  loop = std::move(parted);
}

void swap_siblings(Draft& root, Random& random) {
  const auto sequences = collect(root, Draft::Kind::Sequence);
  if (sequences.empty()) return;
  std::vector<Draft>& children = random.pick(sequences)->children;
  const std::size_t i = random.below(children.size() - 1);
  std::swap(children[i], children[i + 1]);
}

bool remove_leaf(Draft& draft, const std::string& statement) {
  for (std::size_t i = 0; i < draft.children.size(); ++i) {
    Draft& child = draft.children[i];
    const bool is_it = child.kind == Draft::Kind::Leaf && child.leaf.statement == statement;
    if (is_it) draft.children.erase(draft.children.begin() + static_cast<std::ptrdiff_t>(i));
    if (is_it || remove_leaf(child, statement)) return true;
  }
  return false;
}

// Loops above a leaf, outermost first; empty drafts of loops in between are allowed.
bool path_of(Draft& draft, const std::string& statement, std::vector<Draft*>& path) {
  if (draft.kind == Draft::Kind::Leaf) return draft.leaf.statement == statement;
  if (draft.kind == Draft::Kind::Loop) path.push_back(&draft);
  for (Draft& child : draft.children)
    if (path_of(child, statement, path)) return true;
  if (draft.kind == Draft::Kind::Loop) path.pop_back();
  return false;
}

// Moves a leaf into the nest of another one: at some depth, before or after the rest of the body,
// with a `when` for every loop there that it does not own, the first iteration where it goes
// before its host and the last one where it goes behind. Loops of its own that it does not find
// there go with it.
void move_leaf(Draft& root, const State& state, Random& random) {
  std::vector<std::string> names;
  for (Draft* leaf : collect(root, Draft::Kind::Leaf)) names.push_back(leaf->leaf.statement);
  if (names.size() < 2) return;
  const std::size_t moved = random.below(names.size());
  std::size_t host =
      random.chance(70) && moved + 1 < names.size() ? moved + 1 : random.below(names.size());
  if (host == moved) host = (moved + 1) % names.size();
  const bool goes_first = moved < host;
  std::vector<std::string> own;
  for (const Loop* loop : path_to(state.tree, names[moved])) own.push_back(loop->name);
  NestLeaf leaf;
  for (Draft* d : collect(root, Draft::Kind::Leaf))
    if (d->leaf.statement == names[moved]) leaf = d->leaf;
  std::erase_if(own, [&](const std::string& loop) {
    return std::ranges::any_of(leaf.when, [&](const When& w) { return w.loop == loop; });
  });
  remove_leaf(root, names[moved]);
  std::vector<Draft*> path;
  if (!path_of(root, names[host], path) || path.empty()) return;
  path.resize(1 + random.below(path.size()));
  leaf.when.clear();
  for (const Draft* loop : path) {
    if (const auto at = std::ranges::find(own, loop->loop); at != own.end())
      own.erase(at);
    else
      leaf.when.push_back({goes_first, loop->loop});
  }
  Draft nest{Draft::Kind::Leaf, "", LoopKind::Serial, leaf, {}};
  for (std::size_t i = own.size(); i > 0; --i)
    nest = {Draft::Kind::Loop, own[i - 1], LoopKind::Serial, {}, {nest}};
  Draft& body = path.back()->children[0];
  Draft rest = std::move(body);
  body = {Draft::Kind::Sequence, "", LoopKind::Serial, {}, {}};
  if (goes_first)
    body.children = {std::move(nest), std::move(rest)};
  else
    body.children = {std::move(rest), std::move(nest)};
}

}  // namespace

NestTree random_nest(const State& state, Random& random) {
  NestTree start = schedule::nest_of(state.tree, state.tree);
  Draft root = draft_of(start);
  for (int edits = random.between(1, 3); edits > 0; --edits) {
    const int form = random.between(0, 99);
    if (form < 18)
      swap_loops(root, random);
    else if (form < 36)
      change_kind(root, random);
    else if (form < 58)
      join_siblings(root, random);
    else if (form < 66)
      part_siblings(root, random);
    else if (form < 72)
      swap_siblings(root, random);
    else
      move_leaf(root, state, random);
    if (!tidy(root)) return start;
  }
  return nest_of(root);
}

}  // namespace polyte::fuzz
