#include "lower/place_barriers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "lower/block_tree.h"
#include "schedule/proof/feasible.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Stmt;
using Kind = BlockNode::Kind;

namespace {

// A place for a barrier: before a child of a sequence, or at the end of a loop's body.
struct Gap {
  const BlockNode* node = nullptr;
  std::size_t before = 0;  // of a sequence
  friend auto operator<=>(const Gap&, const Gap&) = default;
};

bool is_of_warp(const Gap& gap) {
  for (const BlockNode* n = gap.node; n; n = n->parent)
    if (n->kind == Kind::Warps) return true;
  return false;
}

// Executions of a deeper place are more than of all places outside it, say.
double cost_of(const Gap& gap) {
  const bool is_end = gap.node->kind != Kind::Sequence;
  return std::pow(1000.0, gap.node->depth + (is_end ? 1 : 0)) * (is_of_warp(gap) ? 0.5 : 1);
}

// Two regions, the first of which runs before the second one.
struct Conflict {
  const RegionAccess *from = nullptr, *to = nullptr;
  bool across_warps = false;
  std::set<Gap> ways;  // a barrier at any of them parts the two
};

class ConflictFinder {
 public:
  ConflictFinder(const BlockTree& tree, const ir::LoopProgram& program) : tree_(tree) {
    for (const std::string& param : program.params) shared_.insert(param);
    for (const Constraint& c : tree.of_launch) c.expr.collect_symbols(shared_);
    for (const BlockNode* region : tree.regions)
      for (const RegionAccess& access : region->accesses)
        if (access.write) written_.insert(access.buffer);
    ir::for_each_stmt(program.body, [&](const Stmt& s) {
      const auto* alloc = std::get_if<ir::Alloc>(&s->op);
      if (alloc && (alloc->buffer.memory == ir::Memory::Register || alloc->buffer.memory == ir::Memory::Stack))
        written_.erase(alloc->buffer.name);  // a thread's own
    });
  }

  std::vector<Conflict> conflicts() {
    for (const BlockNode* a : tree_.regions)
      for (const BlockNode* b : tree_.regions) find(*a, *b);
    return std::move(found_);
  }

 private:
  const BlockTree& tree_;
  std::set<std::string> shared_;   // symbols that have one value for both regions, whatever carries the conflict
  std::set<std::string> written_;  // buffers that other threads of the launch can see
  schedule::Feasibility question_;
  std::vector<Conflict> found_;

  void find(const BlockNode& a, const BlockNode& b) {
    std::vector<const BlockNode*> common;  // loops around both, outermost first
    const BlockNode* meeting = lowest_common(a, b);
    for (const BlockNode* n = meeting; n; n = n->parent)
      if (n->kind == Kind::Loop || n->kind == Kind::Warps) common.insert(common.begin(), n);
    std::set<std::string> shared = shared_;
    for (const BlockNode* loop : common) {
      if (loop->kind == Kind::Loop) {
        const std::set<Gap> ways = ways_around(a, b, *loop);
        std::set<Gap> more = ways;
        add_spine(*loop, more);
        add(a, b, shared, {next_iteration(*loop)}, ways);
        add(a, b, shared, {later_iteration(*loop)}, more);
      }
      shared.insert(loop->loop()->var);
    }
    if (&a == &b || meeting->kind != Kind::Sequence || branch_of(a, *meeting) >= branch_of(b, *meeting)) return;
    add(a, b, shared, {}, ways_between(a, b, *meeting));
  }

  static std::vector<const BlockNode*> path(const BlockNode& n) {
    std::vector<const BlockNode*> up;
    for (const BlockNode* each = &n; each; each = each->parent) up.push_back(each);
    return {up.rbegin(), up.rend()};
  }
  static const BlockNode* lowest_common(const BlockNode& a, const BlockNode& b) {
    const auto pa = path(a), pb = path(b);
    std::size_t i = 0;
    while (i + 1 < pa.size() && i + 1 < pb.size() && pa[i + 1] == pb[i + 1]) ++i;
    return &a == &b ? a.parent : pa[i];
  }
  static std::size_t branch_of(const BlockNode& n, const BlockNode& above) {
    const BlockNode* child = &n;
    while (child->parent != &above) child = child->parent;
    return child->position;
  }

  // --- ways: places on the way from one region to the other

  // After the region, and before what follows `top`.
  static void add_after(const BlockNode& region, const BlockNode& top, std::set<Gap>& ways) {
    for (const BlockNode *n = &region, *up = n->parent; n != &top && up && up != &top; n = up, up = n->parent) {
      if (up->kind == Kind::Sequence)
        for (std::size_t i = n->position + 1; i < up->children.size(); ++i) ways.insert({up, i});
      if (up->kind == Kind::Loop) ways.insert({up, 0});
    }
  }
  static void add_before(const BlockNode& region, const BlockNode& top, std::set<Gap>& ways) {
    for (const BlockNode *n = &region, *up = n->parent; n != &top && up && up != &top; n = up, up = n->parent)
      if (up->kind == Kind::Sequence)
        for (std::size_t i = 1; i <= n->position; ++i) ways.insert({up, i});
  }
  static std::set<Gap> ways_between(const BlockNode& a, const BlockNode& b, const BlockNode& sequence) {
    std::set<Gap> ways;
    add_after(a, sequence, ways);
    add_before(b, sequence, ways);
    for (std::size_t i = branch_of(a, sequence) + 1; i <= branch_of(b, sequence); ++i) ways.insert({&sequence, i});
    return ways;
  }
  // From an iteration of the loop to the next.
  static std::set<Gap> ways_around(const BlockNode& a, const BlockNode& b, const BlockNode& loop) {
    std::set<Gap> ways = {{&loop, 0}};
    add_after(a, loop, ways);
    add_before(b, loop, ways);
    return ways;
  }
  // What every iteration comes by, whatever it holds.
  static void add_spine(const BlockNode& loop, std::set<Gap>& ways) {
    const BlockNode* n = loop.children.front().get();
    while (n->kind == Kind::Wrap && std::holds_alternative<ir::Alloc>(n->source->op)) n = n->children.front().get();
    if (n->kind == Kind::Sequence)
      for (std::size_t i = 1; i < n->children.size(); ++i) ways.insert({n, i});
  }

  // --- whether there is a pair

  static std::string other(const std::string& name) { return name + "'"; }

  static Affine distance_along(const BlockNode& loop) {
    const std::string& var = loop.loop()->var;
    return Affine::symbol(other(var)) - Affine::symbol(var);
  }
  static Constraint next_iteration(const BlockNode& loop) { return ir::equal(distance_along(loop), 1); }
  static Constraint later_iteration(const BlockNode& loop) { return ir::at_least(distance_along(loop), 2); }

  void add(const BlockNode& a, const BlockNode& b, const std::set<std::string>& shared,
           const std::vector<Constraint>& carried, const std::set<Gap>& ways) {
    Conflict conflict;
    for (const RegionAccess& x : a.accesses) {
      for (const RegionAccess& y : b.accesses) {
        if (x.buffer != y.buffer || (!x.write && !y.write) || !written_.contains(x.buffer)) continue;
        std::vector<Constraint> pair = at_one_place(x, y, shared);
        pair.insert(pair.end(), carried.begin(), carried.end());
        const Affine one = a.thread, two = renamed(b.thread, shared);
        if (!conflict.from && !differ(pair, one, two)) continue;
        if (!conflict.from) conflict = {&x, &y, false, ways};
        if (!differ(pair, ir::floor_div(one, ir::kLanes), ir::floor_div(two, ir::kLanes))) continue;
        conflict = {&x, &y, true, ways};
        return keep(std::move(conflict));
      }
    }
    if (conflict.from) keep(std::move(conflict));
  }

  void keep(Conflict conflict) {
    if (conflict.across_warps) std::erase_if(conflict.ways, [](const Gap& gap) { return is_of_warp(gap); });
    POLYTE_CHECK(!conflict.ways.empty(), "no place for a barrier between " + conflict.from->statement + " and " +
                                             conflict.to->statement + " on " + conflict.from->buffer);
    found_.push_back(std::move(conflict));
  }

  bool differ(std::vector<Constraint> pair, const Affine& one, const Affine& two) {
    pair.push_back(ir::less_than(one, two));
    if (question_.holds(pair)) return true;
    pair.back() = ir::less_than(two, one);
    return question_.holds(pair);
  }

  static Affine renamed(const Affine& e, const std::set<std::string>& shared) {
    std::set<std::string> symbols;
    e.collect_symbols(symbols);
    ir::Bindings names;
    for (const std::string& symbol : symbols)
      if (!shared.contains(symbol)) names[symbol] = Affine::symbol(other(symbol));
    return ir::substitute(e, names);
  }

  static std::vector<Constraint> at_one_place(const RegionAccess& x, const RegionAccess& y,
                                              const std::set<std::string>& shared) {
    std::vector<Constraint> all = x.where;
    for (const Constraint& c : y.where) all.push_back({renamed(c.expr, shared), c.equality});
    for (std::size_t d = 0; d < x.indices.size(); ++d)
      if (!x.indices[d].indirect && !y.indices[d].indirect)
        all.push_back(ir::equal(x.indices[d].affine, renamed(y.indices[d].affine, shared)));
    return all;
  }
};

bool is_met(const Conflict& c, const std::set<Gap>& places) {
  return std::ranges::any_of(c.ways, [&](const Gap& gap) { return places.contains(gap); });
}

// A cheapest set of places that meets every conflict, by branch and bound; after so many steps the best so far.
class Chooser {
 public:
  explicit Chooser(const std::vector<Conflict>& conflicts) : conflicts_(conflicts) {
    std::set<Gap> none;
    choose(none, 0);
    for (const Gap& gap : std::set<Gap>(best_)) {
      best_.erase(gap);
      if (unmet(best_)) best_.insert(gap);
    }
  }
  const std::set<Gap>& chosen() const { return best_; }

 private:
  static constexpr int kSteps = 20'000;
  const std::vector<Conflict>& conflicts_;
  std::set<Gap> best_;
  double best_cost_ = -1;
  int steps_ = 0;

  // The conflict that fewest places can still meet; null: all are met.
  const Conflict* unmet(const std::set<Gap>& places) const {
    const Conflict* hardest = nullptr;
    for (const Conflict& c : conflicts_) {
      if (!is_met(c, places) && (!hardest || c.ways.size() < hardest->ways.size())) hardest = &c;
    }
    return hardest;
  }

  void choose(std::set<Gap>& places, double cost) {
    if (best_cost_ >= 0 && (cost >= best_cost_ || ++steps_ > kSteps)) return;
    const Conflict* next = unmet(places);
    if (!next) {
      best_ = places;
      best_cost_ = cost;
      return;
    }
    std::vector<Gap> order(next->ways.begin(), next->ways.end());
    std::ranges::stable_sort(order, {}, [](const Gap& gap) { return cost_of(gap); });
    for (const Gap& gap : order) {
      places.insert(gap);
      choose(places, cost + cost_of(gap));
      places.erase(gap);
    }
  }
};

// The places where the whole block must meet: warps alone would not part some conflict.
std::set<Gap> places_of_block(const std::vector<Conflict>& conflicts, const std::set<Gap>& places) {
  std::set<Gap> whole;
  std::ranges::copy_if(places, std::inserter(whole, whole.end()), [](const Gap& gap) { return !is_of_warp(gap); });
  for (const Gap& gap : std::set<Gap>(whole)) {
    whole.erase(gap);
    const auto needs_it = [&](const Conflict& c) { return c.across_warps && !is_met(c, whole); };
    if (std::ranges::any_of(conflicts, needs_it)) whole.insert(gap);
  }
  return whole;
}

// The chosen places as barriers, each with a conflict that no other of them parts.
std::map<Gap, ir::Barrier> barriers_at(const std::vector<Conflict>& conflicts, const std::set<Gap>& places) {
  const std::set<Gap> whole = places_of_block(conflicts, places);
  std::map<Gap, ir::Barrier> barriers;
  for (const Gap& gap : places) {
    const bool of_warp = !whole.contains(gap);
    std::set<Gap> others = of_warp ? places : whole;
    others.erase(gap);
    const auto why = std::ranges::find_if(
        conflicts, [&](const Conflict& c) { return (of_warp || c.across_warps) && !is_met(c, others); });
    POLYTE_CHECK(why != conflicts.end(), "a barrier that nothing needs");
    barriers[gap] = {of_warp, why->from->statement, why->to->statement, why->from->buffer};
  }
  return barriers;
}

Stmt rebuilt(const BlockNode& node, const std::map<Gap, ir::Barrier>& barriers) {
  if (node.kind == Kind::Region) return node.source;
  if (node.kind == Kind::Sequence) {
    std::vector<Stmt> body;
    for (const auto& child : node.children) {
      if (const auto at = barriers.find({&node, child->position}); at != barriers.end())
        body.push_back(ir::make_barrier(at->second));
      body.push_back(rebuilt(*child, barriers));
    }
    return ir::make_block(std::move(body));
  }
  Stmt body = rebuilt(*node.children.front(), barriers);
  if (const auto at = barriers.find({&node, 0}); at != barriers.end())
    body = ir::make_block({body, ir::make_barrier(at->second)});
  return ir::rewrite_children(node.source, [&](const Stmt&) { return body; });
}

Stmt with_barriers(const Stmt& launch, const ir::LoopProgram& program) {
  const BlockTree tree(launch);
  const std::vector<Conflict> conflicts = ConflictFinder(tree, program).conflicts();
  if (conflicts.empty()) return launch;
  const Stmt body = rebuilt(*tree.root, barriers_at(conflicts, Chooser(conflicts).chosen()));
  const std::function<Stmt(const Stmt&)> within = [&](const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    return loop && loop->kind == ir::LoopKind::Block ? ir::rewrite_children(s, within) : body;
  };
  return within(launch);
}

}  // namespace

ir::LoopProgram place_barriers(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  const std::function<Stmt(const Stmt&)> launches = [&](const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop && loop->kind == ir::LoopKind::Block) return with_barriers(s, program);
    return ir::rewrite_children(s, launches);
  };
  result.body = launches(program.body);
  return result;
}

}  // namespace polyte::lower
