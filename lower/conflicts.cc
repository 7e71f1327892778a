#include "lower/conflicts.h"

#include <algorithm>

#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Stmt;
using Kind = BlockNode::Kind;

bool is_of_warp(const Gap& gap) {
  for (const BlockNode* n = gap.node; n; n = n->parent)
    if (n->kind == Kind::Warps) return true;
  return false;
}

namespace {

std::vector<const BlockNode*> path(const BlockNode& n) {
  std::vector<const BlockNode*> up;
  for (const BlockNode* each = &n; each; each = each->parent) up.push_back(each);
  return {up.rbegin(), up.rend()};
}

}  // namespace

// The innermost node that holds both regions; for a region and itself, its parent.
const BlockNode* lowest_common(const BlockNode& a, const BlockNode& b) {
  const auto pa = path(a), pb = path(b);
  std::size_t i = 0;
  while (i + 1 < pa.size() && i + 1 < pb.size() && pa[i + 1] == pb[i + 1]) ++i;
  return &a == &b ? a.parent : pa[i];
}

std::size_t branch_of(const BlockNode& n, const BlockNode& above) {
  const BlockNode* child = &n;
  while (child->parent != &above) child = child->parent;
  return child->position;
}

std::string second_name(const std::string& name) { return name + "'"; }

Affine as_second(const Affine& e, const std::set<std::string>& shared) {
  std::set<std::string> symbols;
  e.collect_symbols(symbols);
  ir::Bindings names;
  for (const std::string& symbol : symbols)
    if (!shared.contains(symbol)) names[symbol] = Affine::symbol(second_name(symbol));
  return ir::substitute(e, names);
}

namespace {

bool runs_at_least_once(const ir::For& loop) {
  const Affine trips = loop.upper[0] - loop.lower[0];
  return loop.lower.size() == 1 && loop.upper.size() == 1 && trips.is_constant() &&
         trips.constant() >= 1;
}
// Adds the gaps that every execution of the node reaches. None inside a branch, or a loop that may
// run no iteration: a barrier there would not be on every way.
void add_inside(const BlockNode& n, std::set<Gap>& ways) {
  if (n.kind == Kind::Region || n.kind == Kind::Warps) return;
  if (n.kind == Kind::Wrap && !std::holds_alternative<ir::Alloc>(n.source->op)) return;
  if (n.kind == Kind::Loop && !runs_at_least_once(*n.loop())) return;
  if (n.kind == Kind::Loop) ways.insert({&n, 0});
  for (const auto& child : n.children) {
    if (n.kind == Kind::Sequence && child->position > 0) ways.insert({&n, child->position});
    add_inside(*child, ways);
  }
}
// Gaps between two children of a sequence, which every thread reaches.
void add_between(const BlockNode& sequence, std::size_t first, std::size_t second,
                 std::set<Gap>& ways) {
  for (std::size_t i = first + 1; i <= second; ++i) {
    ways.insert({&sequence, i});
    if (i < second) add_inside(*sequence.children[i], ways);
  }
}
// Gaps on the way from the region to the end of the child of `top` that holds it.
void add_after(const BlockNode& region, const BlockNode& top, std::set<Gap>& ways) {
  for (const BlockNode *n = &region, *up = n->parent; n != &top && up && up != &top;
       n = up, up = n->parent) {
    if (up->kind == Kind::Sequence) {
      add_between(*up, n->position, up->children.size() - 1, ways);
      if (n->position + 1 < up->children.size()) add_inside(*up->children.back(), ways);
    }
    if (up->kind == Kind::Loop) ways.insert({up, 0});
  }
}
// Gaps on the way from the beginning of that child to the region.
void add_before(const BlockNode& region, const BlockNode& top, std::set<Gap>& ways) {
  for (const BlockNode *n = &region, *up = n->parent; n != &top && up && up != &top;
       n = up, up = n->parent)
    if (up->kind == Kind::Sequence && n->position > 0) {
      add_inside(*up->children.front(), ways);
      add_between(*up, 0, n->position, ways);
    }
}
// Where a barrier can stand for a pair: gaps in the tree that every execution between the
// two passes.
//
//   { A; gap 1; loop { .. }; gap 2; B }    A before B: gaps 1 and 2, and the loop's if it runs at
//                                          least once
//
// For a pair that meets in different iterations of a loop, also the gap at the loop's back edge,
// and what follows A and precedes B inside it.
std::set<Gap> ways_between(const BlockNode& a, const BlockNode& b, const BlockNode& sequence) {
  std::set<Gap> ways;
  add_after(a, sequence, ways);
  add_before(b, sequence, ways);
  add_between(sequence, branch_of(a, sequence), branch_of(b, sequence), ways);
  return ways;
}
// The same on the way from one iteration of the loop to the next.
std::set<Gap> ways_around(const BlockNode& a, const BlockNode& b, const BlockNode& loop) {
  std::set<Gap> ways = {{&loop, 0}};
  add_after(a, loop, ways);
  add_before(b, loop, ways);
  return ways;
}
// What every iteration reaches, whatever it holds. Between instances two or more iterations apart
// lies a whole iteration, so for those any of these places is on the way.
void add_spine(const BlockNode& loop, std::set<Gap>& ways) {
  const BlockNode* n = loop.children.front().get();
  while (n->kind == Kind::Wrap && std::holds_alternative<ir::Alloc>(n->source->op))
    n = n->children.front().get();
  if (n->kind == Kind::Sequence)
    for (std::size_t i = 1; i < n->children.size(); ++i) ways.insert({n, i});
}

Affine distance_along(const BlockNode& loop) {
  const std::string& var = loop.loop()->var;
  return Affine::symbol(second_name(var)) - Affine::symbol(var);
}
Constraint next_iteration(const BlockNode& loop) { return ir::equal(distance_along(loop), 1); }
Constraint later_iteration(const BlockNode& loop) { return ir::at_least(distance_along(loop), 2); }

// Loops around both, outermost first.
std::vector<const BlockNode*> common_loops(const BlockNode& a, const BlockNode& b) {
  std::vector<const BlockNode*> common;
  for (const BlockNode* n = lowest_common(a, b); n; n = n->parent)
    if (n->kind == Kind::Loop || n->kind == Kind::Warps) common.insert(common.begin(), n);
  return common;
}

// One instance of x and one of y touch one element. Both use the same variable names, so y's get a
// prime, but for those that are the same for both: parameters, the launch, and loops outside
// of the carrier.
std::vector<Constraint> at_one_place(const RegionAccess& x, const RegionAccess& y,
                                     const std::set<std::string>& shared) {
  std::vector<Constraint> all = x.where;
  for (const Constraint& c : y.where) all.push_back({as_second(c.expr, shared), c.equality});
  for (std::size_t d = 0; d < x.indices.size(); ++d)
    if (!x.indices[d].indirect && !y.indices[d].indirect)
      all.push_back(ir::equal(x.indices[d].affine, as_second(y.indices[d].affine, shared)));
  return all;
}

}  // namespace

ConflictFinder::ConflictFinder(const BlockTree& tree, const ir::LoopProgram& program)
    : tree_(tree) {
  for (const std::string& param : program.params) shared_.insert(param);
  for (const Constraint& c : tree.of_launch) c.expr.collect_symbols(shared_);
  for (const BlockNode* region : tree.regions)
    for (const RegionAccess& access : region->accesses)
      if (access.write) written_.insert(access.buffer);
  ir::for_each_stmt(program.body, [&](const Stmt& s) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (alloc &&
        (alloc->buffer.memory == ir::Memory::Register || alloc->buffer.memory == ir::Memory::Stack))
      written_.erase(alloc->buffer.name);  // a thread's own
  });
}

std::vector<Conflict> ConflictFinder::conflicts() {
  for (const BlockNode* a : tree_.regions)
    for (const BlockNode* b : tree_.regions) find(*a, *b);
  return std::move(found_);
}

std::set<std::string> ConflictFinder::shared_by(const BlockNode& a, const BlockNode& b,
                                                const BlockNode* carrier) const {
  std::set<std::string> shared = shared_;
  for (const BlockNode* loop : common_loops(a, b)) {
    if (loop == carrier) break;
    shared.insert(loop->loop()->var);
  }
  return shared;
}

std::vector<Constraint> ConflictFinder::meeting(const RegionAccess& x, const RegionAccess& y,
                                                const BlockNode& a, const BlockNode& b,
                                                const BlockNode* carrier) const {
  std::vector<Constraint> pair = at_one_place(x, y, shared_by(a, b, carrier));
  if (carrier) pair.push_back(ir::at_least(distance_along(*carrier), 1));
  return pair;
}

// Pairs one iteration apart and pairs further apart are separate conflicts, as the second kind can
// be parted in more places. Without that a barrier in the middle of a pipelined loop would not be
// seen to serve a copy that is read two iterations later.
void ConflictFinder::find(const BlockNode& a, const BlockNode& b) {
  for (const BlockNode* loop : common_loops(a, b)) {
    if (loop->kind != Kind::Loop) continue;
    const std::set<std::string> shared = shared_by(a, b, loop);
    Conflict conflict{nullptr, nullptr, false, false, ways_around(a, b, *loop), &a, &b, loop};
    add(conflict, shared, {next_iteration(*loop)});
    add_spine(*loop, conflict.ways);
    add(conflict, shared, {later_iteration(*loop)});
  }
  const BlockNode* meeting = lowest_common(a, b);
  if (&a == &b || meeting->kind != Kind::Sequence ||
      branch_of(a, *meeting) >= branch_of(b, *meeting))
    return;
  add({nullptr, nullptr, false, false, ways_between(a, b, *meeting), &a, &b, nullptr},
      shared_by(a, b, nullptr), {});
}

// A conflict needs two different threads: one < two or two < one must have an integer solution. If
// the threads of every solution are of one warp, a barrier of the warp does, so the question is
// asked again of thread // 32. It is asked by constraints, not by enumeration: sizes may be open.
void ConflictFinder::add(const Conflict& kind, const std::set<std::string>& shared,
                         const std::vector<Constraint>& carried) {
  Conflict conflict = kind;
  for (const RegionAccess& x : kind.first->accesses) {
    for (const RegionAccess& y : kind.second->accesses) {
      if (x.buffer != y.buffer || (!x.write && !y.write) || !written_.contains(x.buffer)) continue;
      if (x.atomic && y.atomic) continue;
      const bool past_threads = x.past_threads || y.past_threads,
                 needs_fence = x.write && y.past_threads;
      if (conflict.across_warps && (conflict.fenced || !needs_fence)) continue;
      std::vector<Constraint> pair = at_one_place(x, y, shared);
      pair.insert(pair.end(), carried.begin(), carried.end());
      const Affine one = kind.first->thread, two = as_second(kind.second->thread, shared);
      if (past_threads ? !question_.holds(pair) : !conflict.from && !differ(pair, one, two))
        continue;
      if (!conflict.from) conflict.from = &x, conflict.to = &y;
      if (!past_threads &&
          !differ(pair, ir::floor_div(one, ir::kLanes), ir::floor_div(two, ir::kLanes)))
        continue;
      conflict.from = &x, conflict.to = &y;
      conflict.across_warps = true;
      conflict.fenced = needs_fence;
    }
  }
  if (conflict.from) keep(std::move(conflict));
}

void ConflictFinder::keep(Conflict conflict) {
  if (conflict.across_warps)
    std::erase_if(conflict.ways, [](const Gap& gap) { return is_of_warp(gap); });
  POLYTE_CHECK(!conflict.ways.empty(), "no place for a barrier between " +
                                           conflict.from->statement + " and " +
                                           conflict.to->statement + " on " + conflict.from->buffer);
  found_.push_back(std::move(conflict));
}

bool ConflictFinder::differ(std::vector<Constraint> pair, const Affine& one, const Affine& two) {
  pair.push_back(ir::less_than(one, two));
  if (question_.holds(pair)) return true;
  pair.back() = ir::less_than(two, one);
  return question_.holds(pair);
}

}  // namespace polyte::lower
