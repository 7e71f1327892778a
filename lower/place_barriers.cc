#include "lower/place_barriers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "lower/async_copies.h"
#include "lower/conflicts.h"
#include "support/error.h"
#include "support/stable_sort.h"

namespace polyte::lower {

using ir::Stmt;
using Kind = BlockNode::Kind;

namespace {

// A barrier runs once per iteration of the loops around it, whose numbers may be unknown: each loop
// is taken for 1000 iterations. One of a warp costs half of one of the block.
double cost_of(const Gap& gap) {
  const bool is_end = gap.node->kind != Kind::Sequence;
  return std::pow(1000.0, gap.node->depth + (is_end ? 1 : 0)) * (is_of_warp(gap) ? 0.5 : 1);
}

bool is_met(const Conflict& c, const std::set<Gap>& places) {
  return std::ranges::any_of(c.ways, [&](const Gap& gap) { return places.contains(gap); });
}

// A cheapest set of places that meets every conflict, by branch and bound; after so many steps the
// best so far. This is a hitting set with weights, NP-hard in general; kernels have a handful of
// conflicts. Branching on the conflict with the fewest ways keeps the tree narrow, and the first
// leaf, which takes the cheapest way of each, is a bound to cut with. The removal at the end
// matters where the search was stopped: it drops what others of the set make needless.
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
    sort_stably(order, {}, [](const Gap& gap) { return cost_of(gap); });
    for (const Gap& gap : order) {
      places.insert(gap);
      choose(places, cost + cost_of(gap));
      places.erase(gap);
    }
  }
};

// The places where the whole block must meet: warps alone would not part some conflict. Conflicts
// within a warp need only __syncwarp there, which is cheaper.
std::set<Gap> places_of_block(const std::vector<Conflict>& conflicts, const std::set<Gap>& places) {
  std::set<Gap> whole;
  std::ranges::copy_if(places, std::inserter(whole, whole.end()),
                       [](const Gap& gap) { return !is_of_warp(gap); });
  for (const Gap& gap : std::set<Gap>(whole)) {
    whole.erase(gap);
    const auto needs_it = [&](const Conflict& c) { return c.across_warps && !is_met(c, whole); };
    if (std::ranges::any_of(conflicts, needs_it)) whole.insert(gap);
  }
  return whole;
}

// Where threads fence what they wrote: as few of the block's places as meet every conflict that
// asks for it. What is copied meanwhile has to have landed there.
std::set<Gap> fenced_places(std::vector<Conflict> conflicts, const std::set<Gap>& whole,
                            const AsyncCopies& copies) {
  std::erase_if(conflicts, [](const Conflict& c) { return !c.fenced; });
  for (Conflict& c : conflicts)
    if (copies.buffers.contains(c.from->buffer))
      std::erase_if(c.ways, [&](const Gap& gap) { return !copies.waits.contains(gap); });
  std::set<Gap> fenced = conflicts.empty() ? std::set<Gap>{} : whole;
  for (const Gap& gap : std::set<Gap>(fenced)) {
    fenced.erase(gap);
    if (!std::ranges::all_of(conflicts, [&](const Conflict& c) { return is_met(c, fenced); }))
      fenced.insert(gap);
  }
  return fenced;
}

// The chosen places as barriers, each with a conflict that no other of them parts.
std::map<Gap, ir::Barrier> barriers_at(const std::vector<Conflict>& conflicts,
                                       const std::set<Gap>& places, const AsyncCopies& copies) {
  const std::set<Gap> whole = places_of_block(conflicts, places);
  const std::set<Gap> fenced = fenced_places(conflicts, whole, copies);
  std::map<Gap, ir::Barrier> barriers;
  for (const Gap& gap : places) {
    const bool of_warp = !whole.contains(gap);
    std::set<Gap> others = of_warp ? places : whole;
    others.erase(gap);
    const auto why = std::ranges::find_if(conflicts, [&](const Conflict& c) {
      return (of_warp || c.across_warps) && !is_met(c, others);
    });
    POLYTE_CHECK(why != conflicts.end(), "a barrier that nothing needs");
    barriers[gap] = {of_warp, why->from->statement, why->to->statement, why->from->buffer,
                     fenced.contains(gap)};
  }
  return barriers;
}

// Builds the statements anew, with barriers, and commits and waits of copies, between regions.
class Rebuilder {
 public:
  Rebuilder(std::map<Gap, ir::Barrier> barriers, AsyncCopies copies)
      : barriers_(std::move(barriers)), copies_(std::move(copies)) {}

  Stmt rebuilt(const BlockNode& node) const {
    if (node.kind == Kind::Region) return copies_.begun(node.source);
    std::vector<Stmt> body;
    if (node.kind == Kind::Sequence) {
      for (const auto& child : node.children) {
        add_meeting({&node, child->position}, body);
        body.push_back(rebuilt(*child));
      }
      add_meeting({&node, node.children.size()}, body);
      return ir::make_block(std::move(body));
    }
    body.push_back(rebuilt(*node.children.front()));
    add_meeting({&node, 0}, body);
    Stmt whole = ir::make_block(std::move(body));
    return ir::rewrite_children(node.source, [&](const Stmt&) { return whole; });
  }

 private:
  std::map<Gap, ir::Barrier> barriers_;
  AsyncCopies copies_;

  // The order matters: what was begun before is committed, then awaited by its own thread, and only
  // then do all threads meet.
  void add_meeting(const Gap& gap, std::vector<Stmt>& body) const {
    if (copies_.commits.contains(gap)) body.push_back(ir::make_copy_group({false, 0}));
    if (const auto at = copies_.waits.find(gap); at != copies_.waits.end())
      body.push_back(ir::make_copy_group({true, at->second}));
    if (const auto at = barriers_.find(gap); at != barriers_.end())
      body.push_back(ir::make_barrier(at->second));
  }
};

Stmt with_barriers(const Stmt& launch, const ir::LoopProgram& program, bool has_async_copies) {
  const BlockTree tree(launch);
  ConflictFinder finder(tree, program);
  const std::vector<Conflict> conflicts = finder.conflicts();
  if (conflicts.empty()) return launch;
  const std::set<Gap> places = Chooser(conflicts).chosen();
  AsyncCopies copies;
  if (has_async_copies)
    copies =
        async_copies(tree, program, conflicts, places, places_of_block(conflicts, places), finder);
  std::map<Gap, ir::Barrier> barriers = barriers_at(conflicts, places, copies);
  const Stmt body = Rebuilder(std::move(barriers), std::move(copies)).rebuilt(*tree.root);
  const std::function<Stmt(const Stmt&)> within = [&](const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    return loop && loop->kind == ir::LoopKind::Block ? ir::rewrite_children(s, within) : body;
  };
  return within(launch);
}

}  // namespace

ir::LoopProgram place_barriers(const ir::LoopProgram& program, const Machine& machine) {
  constexpr int kFirstWithAsyncCopies = 80;
  const bool has_async_copies =
      machine.gpu && machine.gpu->compute_capability >= kFirstWithAsyncCopies;
  ir::LoopProgram result = program;
  const std::function<Stmt(const Stmt&)> launches = [&](const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop && loop->kind == ir::LoopKind::Block)
      return with_barriers(s, program, has_async_copies);
    return ir::rewrite_children(s, launches);
  };
  result.body = launches(program.body);
  return result;
}

}  // namespace polyte::lower
