#include "lower/async_copies.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "lower/async_candidates.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Stmt;
using Kind = BlockNode::Kind;

namespace {

// The search for the number of groups ends here: a deeper pipeline waits for more than it must.
constexpr int kMostPending = 16;

bool is_below(const BlockNode& n, const BlockNode& above) {
  for (const BlockNode* each = &n; each; each = each->parent)
    if (each == &above) return true;
  return false;
}

bool is_in_warps(const BlockNode& n) {
  for (const BlockNode* each = &n; each; each = each->parent)
    if (each->kind == Kind::Warps) return true;
  return false;
}

// A region that fills a buffer, and one that reads it, of which some instances meet.
struct Flow {
  const BlockNode *from = nullptr, *to = nullptr, *carrier = nullptr;
  const RegionAccess *write = nullptr, *read = nullptr;
  bool across_warps = false;
  bool is_far = false;      // two iterations of the carrier lie between the two, at the least
  std::set<Gap> ways = {};  // barriers that every pair of instances has on its way

  const BlockNode& top() const { return carrier ? *carrier : *lowest_common(*from, *to); }
};

// In which iteration of the loops around the two a barrier stands on the way: latest first.
enum class When { BeforeReader, IterationBefore, BehindWriter };

// Pairs of a flow, and the barrier that they wait at.
struct Wait {
  Flow flow;
  std::vector<Constraint> pairs;
  Gap place;
  When when = When::BeforeReader;
};

class Planner {
 public:
  Planner(const BlockTree& tree, const ir::LoopProgram& program,
          const std::vector<Conflict>& conflicts, const std::set<Gap>& places,
          const std::set<Gap>& of_block, ConflictFinder& finder)
      : tree_(tree),
        conflicts_(conflicts),
        places_(places),
        of_block_(of_block),
        finder_(finder),
        possible_(async_candidates(tree, program)) {}

  AsyncCopies run() {
    for (const auto& [buffer, alloc] : possible_)
      if (may_land_later(buffer)) plan_.buffers.insert(buffer);
    if (plan_.buffers.empty()) return {};
    add_commits(*tree_.root);
    for (const Flow& flow : flows_)
      if (plan_.buffers.contains(flow.write->buffer)) wait_for(flow);
    drop_needless_waits();
    return std::move(plan_);
  }

 private:
  const BlockTree& tree_;
  const std::vector<Conflict>& conflicts_;
  const std::set<Gap>&places_, &of_block_;
  ConflictFinder& finder_;
  std::map<std::string, const ir::Alloc*> possible_;
  std::vector<Flow> flows_;
  std::map<std::string, const BlockNode*> ahead_in_;  // the loop that reads them
  std::vector<Wait> waits_;
  AsyncCopies plan_;

  // --- which buffers

  // Every reader is another thread's, so that a barrier stands between. A thread that waits for its
  // own copies and then meets the others makes the copies of all of them visible; without a barrier
  // on the way there is no place for the wait.
  bool may_land_later(const std::string& buffer) {
    std::vector<Flow> flows = flows_of(buffer);
    if (flows.empty()) return false;
    for (Flow& flow : flows) {
      if (is_in_warps(*flow.from)) return false;
      find_ways(flow);
      if (flow.ways.empty()) return false;
    }
    const BlockNode* loop = loop_ahead_of(flows);
    const ir::Alloc& alloc = *possible_.at(buffer);
    if (!loop && std::ranges::any_of(flows, [&](const Flow& flow) {
          return is_scattered(flow.from->source, alloc);
        }))
      return false;
    if (loop) ahead_in_[buffer] = loop;
    flows_.insert(flows_.end(), flows.begin(), flows.end());
    return true;
  }

  // The loop ahead of which the buffer is filled: each iteration fills it for a later one only, and
  // outside of the loop it is only filled before it. Null: it is filled where it is read.
  static const BlockNode* loop_ahead_of(const std::vector<Flow>& flows) {
    const auto carried =
        std::ranges::find_if(flows, [](const Flow& flow) { return flow.carrier != nullptr; });
    if (carried == flows.end()) return nullptr;
    const BlockNode& loop = *carried->carrier;
    const bool is_ahead = std::ranges::none_of(flows, [&](const Flow& flow) {
      const bool at_once =
          flow.carrier == nullptr && is_below(*flow.from, loop) && is_below(*flow.to, loop);
      return at_once || (is_below(*flow.from, loop) && flow.from != carried->from);
    });
    return is_ahead ? &loop : nullptr;
  }

  void find_ways(Flow& flow) const {
    std::set<Gap> ways = places_;
    bool is_met = false;
    for (const Conflict& c : conflicts_) {
      if (c.first != flow.from || c.second != flow.to || c.carrier != flow.carrier) continue;
      is_met = true;
      flow.across_warps |= c.across_warps;
      std::erase_if(ways, [&](const Gap& gap) { return !c.ways.contains(gap); });
    }
    if (!is_met) return;
    flow.is_far = is_far(flow);
    std::ranges::copy_if(ways, std::inserter(flow.ways, flow.ways.end()), [&](const Gap& gap) {
      return shows_copies(flow, gap) && when(flow, gap).has_value();
    });
  }
  // By the integer sets: no pair meets with a distance of exactly 1 in the carrier's variable.
  bool is_far(const Flow& flow) const {
    if (!flow.carrier) return false;
    const std::string& var = flow.carrier->loop()->var;
    std::vector<Constraint> next = pair(flow);
    next.push_back(ir::equal(Affine::symbol(second_name(var)) - Affine::symbol(var), 1));
    return !finder_.question().holds(next);
  }

  // A barrier where what other threads have waited for can be seen: of a warp it shows what
  // its lanes have begun.
  bool shows_copies(const Flow& flow, const Gap& gap) const {
    return of_block_.contains(gap) ||
           (!flow.across_warps && places_.contains(gap) && !is_of_warp(gap));
  }

  // nullopt where the gap is on no way that the formulas below can count commits for.
  static std::optional<When> when(const Flow& flow, const Gap& gap) {
    const auto has_passed = [&](const BlockNode& region) {
      return is_below(region, *gap.node) && gap.before > branch_of(region, *gap.node);
    };
    const bool in_sequence = gap.node->kind == Kind::Sequence;
    if (gap.node == flow.carrier) return When::BeforeReader;  // where the iteration before it ends
    if (in_sequence && is_below(*flow.to, *gap.node) && !has_passed(*flow.to))
      return When::BeforeReader;
    if (in_sequence && flow.is_far && loop_around(gap) == flow.carrier)
      return When::IterationBefore;
    if (in_sequence ? has_passed(*flow.from) : is_below(*flow.from, *gap.node))
      return When::BehindWriter;
    return {};
  }
  // The loop of which each iteration reaches this point; null: none does.
  static const BlockNode* loop_around(const Gap& gap) {
    const BlockNode* up = gap.node->parent;
    while (up && up->kind == Kind::Wrap && std::holds_alternative<ir::Alloc>(up->source->op))
      up = up->parent;
    return up && up->kind == Kind::Loop ? up : nullptr;
  }

  std::vector<Flow> flows_of(const std::string& buffer) {
    std::vector<Flow> flows;
    for (const BlockNode* a : tree_.regions)
      for (const RegionAccess& write : a->accesses) {
        if (write.buffer != buffer || !write.write) continue;
        for (const BlockNode* b : tree_.regions)
          for (const RegionAccess& read : b->accesses)
            if (read.buffer == buffer && !read.write)
              add_flows({.from = a, .to = b, .write = &write, .read = &read}, flows);
      }
    return flows;
  }

  // Within one iteration of all common loops, where the writer comes first in the text; then once
  // for each common loop that may carry the pair from an iteration to a later one.
  void add_flows(Flow flow, std::vector<Flow>& flows) {
    const BlockNode& meeting = *lowest_common(*flow.from, *flow.to);
    if (flow.from != flow.to && meeting.kind == Kind::Sequence &&
        branch_of(*flow.from, meeting) < branch_of(*flow.to, meeting) &&
        finder_.question().holds(pair(flow)))
      flows.push_back(flow);
    for (const BlockNode* n = &meeting; n; n = n->parent) {
      if (n->kind != Kind::Loop) continue;
      flow.carrier = n;
      if (finder_.question().holds(pair(flow))) flows.push_back(flow);
    }
  }

  std::vector<Constraint> pair(const Flow& flow) const {
    return finder_.meeting(*flow.write, *flow.read, *flow.from, *flow.to, flow.carrier);
  }

  // --- groups: behind what begins copies side by side, with loops and conditions around that: a
  // thread that begins none there has an empty group, so that each iteration has as many

  bool begins_copies(const BlockNode& n) const {
    const auto has_place = [&](const Gap& place) { return place.node == &n; };
    if (n.kind == Kind::Warps || std::ranges::any_of(places_, has_place)) return false;
    if (n.kind == Kind::Loop && is_of_stages(n)) return false;
    if (n.kind != Kind::Region)
      return std::ranges::all_of(n.children,
                                 [&](const auto& child) { return begins_copies(*child); });
    return std::ranges::any_of(n.accesses, [&](const RegionAccess& a) {
      return a.write && plan_.buffers.contains(a.buffer);
    });
  }

  // Whether the loop fills the stages of a pipeline, before the loop that reads them: the first
  // iteration of that one needs what the first iteration here copies, and nothing that later ones
  // do. Each of its iterations then commits a group of its own.
  bool is_of_stages(const BlockNode& n) const {
    const auto from_start = [](const BlockNode& loop) {
      return Affine::symbol(loop.loop()->var) - loop.loop()->lower[0];
    };
    bool any = false;
    for (const Flow& flow : flows_) {
      const auto ahead = ahead_in_.find(flow.write->buffer);
      if (flow.carrier || ahead == ahead_in_.end() || !is_below(*flow.from, n)) continue;
      const BlockNode& reading = *ahead->second;
      if (is_below(n, reading) || !is_below(*flow.to, reading)) continue;
      std::vector<Constraint> others = pair(flow);
      others.push_back(ir::at_least(from_start(n), 1));
      others.push_back(ir::equal(
          as_second(from_start(reading), finder_.shared_by(*flow.from, *flow.to, flow.carrier)),
          0));
      if (finder_.question().holds(others)) return false;
      any = true;
    }
    return any;
  }

  void add_commits(const BlockNode& n) {
    if (n.kind == Kind::Sequence) {
      for (std::size_t i = 0; i < n.children.size(); ++i) {
        if (!begins_copies(*n.children[i])) {
          add_commits(*n.children[i]);
          continue;
        }
        const bool goes_on = i + 1 < n.children.size() && begins_copies(*n.children[i + 1]);
        if (!goes_on || places_.contains({&n, i + 1})) plan_.commits.insert({&n, i + 1});
      }
      return;
    }
    for (const auto& child : n.children) {
      if (n.kind == Kind::Loop && begins_copies(*child)) {
        plan_.commits.insert({&n, 0});
      } else {
        add_commits(*child);
      }
    }
  }

  std::int64_t at(const Gap& gap) const { return plan_.commits.contains(gap) ? 1 : 0; }

  // Commits of one execution of the node: a lower bound, as only so many groups are sure to lie
  // between. Branches, and loops of an unknown number of trips, count as none.
  std::int64_t commits_in(const BlockNode& n) const {
    if (n.kind == Kind::Wrap && std::holds_alternative<ir::Alloc>(n.source->op))
      return commits_in(*n.children[0]);
    if (n.kind == Kind::Loop) return fewest_trips(n) * commits_of_iteration(n);
    if (n.kind != Kind::Sequence) return 0;
    return commits_between(n, 0, n.children.size()) + at({&n, 0});
  }
  static std::int64_t fewest_trips(const BlockNode& loop) {
    const ir::For& source = *loop.loop();
    const Affine trips = source.upper[0] - source.lower[0];
    const bool is_number =
        source.lower.size() == 1 && source.upper.size() == 1 && trips.is_constant();
    return is_number ? std::max<std::int64_t>(trips.constant(), 0) : 0;
  }
  std::int64_t commits_of_iteration(const BlockNode& loop) const {
    return commits_in(*loop.children[0]) + at({&loop, 0});
  }
  // Commits in the children [first, last) of a sequence, and in the places behind each of them.
  std::int64_t commits_between(const BlockNode& n, std::size_t first, std::size_t last) const {
    std::int64_t count = 0;
    for (std::size_t i = first; i < last; ++i)
      count += commits_in(*n.children[i]) + at({&n, i + 1});
    return count;
  }

  // --- how many commits lie between a copy and a place before its reader

  // From behind the region until what stands for it below `top` ends, or until a place before that;
  // its own commit included. An affine function of the first instance's variables: a loop of n
  // trips of c commits, left in iteration i, has (n - 1 - i) * c to go.
  Affine commits_after(const BlockNode& region, const BlockNode& top,
                       const Gap* until = nullptr) const {
    Affine count = 0;
    for (const BlockNode *n = &region, *up = n->parent; up && up != &top; n = up, up = n->parent) {
      const bool is_last = until && up == until->node;
      if (up->kind == Kind::Sequence) {
        const std::size_t last = is_last ? until->before : up->children.size();
        count = count + commits_between(*up, n->position + 1, last) + at({up, n->position + 1});
      }
      if (up->kind == Kind::Loop) count = count + at({up, 0});
      if (is_last) break;
      if (up->kind != Kind::Loop) continue;
      const ir::For& loop = *up->loop();
      if (loop.upper.size() == 1)
        count = count + (loop.upper[0] - 1 - Affine::symbol(loop.var)) * commits_of_iteration(*up);
    }
    return count;
  }

  // From where `top` begins until the place, which is on the way to the region; over the
  // second region's variables.
  Affine commits_before(const Gap& place, const BlockNode& region, const BlockNode& top) const {
    std::vector<const BlockNode*> way;  // from below `top` to the place's node
    for (const BlockNode* n = place.node; n && n != &top; n = n->parent) way.insert(way.begin(), n);
    Affine count = 0;
    for (const BlockNode* n : way) {
      if (n->kind == Kind::Loop && n->loop()->lower.size() == 1)
        count = count +
                (Affine::symbol(n->loop()->var) - n->loop()->lower[0]) * commits_of_iteration(*n);
      if (n->kind != Kind::Sequence) continue;
      const std::size_t until = n == place.node ? place.before : branch_of(region, *n);
      count = count + commits_between(*n, 0, until) + at({n, 0});
    }
    return count;
  }

  // Commits between the copy's own and the place, over the variables of both instances:
  //
  //   from the copy to the end of its iteration t          `commits_after`
  //   whole iterations of the carrier between the two      (t' - t - 1) times as many as each has
  //   from the beginning of iteration t' to the place      `commits_before`
  //
  // A wait for all but p groups has landed the copy where that number is p at the least.
  Affine commits(const Wait& wait, const Gap& place) const {
    const Flow& flow = wait.flow;
    const BlockNode& top = flow.top();
    const When at_place = place == wait.place ? wait.when : *when(flow, place);
    Affine count = -1;  // its own
    if (at_place == When::BehindWriter) return count + commits_after(*flow.from, top, &place);
    const std::set<std::string> shared = finder_.shared_by(*flow.from, *flow.to, flow.carrier);
    count = count + commits_after(*flow.from, top);
    if (flow.carrier) {
      const std::string& var = top.loop()->var;
      count =
          count + at({&top, 0}) +
          (Affine::symbol(second_name(var)) - Affine::symbol(var) - 1) * commits_of_iteration(top);
    } else {
      const std::size_t first = branch_of(*flow.from, top) + 1;
      const std::size_t last = place.node == &top ? place.before : branch_of(*flow.to, top);
      count = count + at({&top, first}) + commits_between(top, first, last);
    }
    if (at_place == When::IterationBefore)
      count = count - commits_of_iteration(*loop_around(place));
    return place.node == &top ? count
                              : count + as_second(commits_before(place, *flow.to, top), shared);
  }

  // --- waits

  // Waits at the last barrier before the reader. Where that stands at the end of a loop's
  // iteration, it serves all iterations but the first: the pairs of the first one go on to a
  // barrier further out.
  void wait_for(const Flow& flow) {
    const std::set<std::string> shared = finder_.shared_by(*flow.from, *flow.to, flow.carrier);
    const BlockNode& top = flow.top();
    std::vector<Constraint> left = pair(flow);  // the pairs that have no wait yet
    const BlockNode* below = flow.to;
    for (const BlockNode* n = below->parent; n; below = n, n = n->parent) {
      if (n->kind == Kind::Sequence) {
        const std::size_t first = n == &top ? branch_of(*flow.from, top) + 1 : 0;
        for (std::size_t i = below->position + 1; i-- > first;)
          if (shows_copies(flow, {n, i})) return wait({flow, left, {n, i}});
      }
      if (n == flow.carrier && shows_copies(flow, {n, 0})) return wait({flow, left, {n, 0}});
      if (n == &top) break;
      if (const auto last = n->kind == Kind::Loop ? last_of_iteration(flow, *n) : std::nullopt) {
        const ir::For& loop = *n->loop();
        const Affine from_start = as_second(Affine::symbol(loop.var) - loop.lower[0], shared);
        std::vector<Constraint> later = left;
        later.push_back(ir::at_least(from_start, 1));
        wait({flow, later, *last, last->node == n ? When::BeforeReader : When::IterationBefore});
        if (loop.lower.size() == 1) left.push_back(ir::equal(from_start, 0));
      }
    }
    const auto earlier = [&](const Gap& a, const Gap& b) {
      return *when(flow, a) > *when(flow, b);
    };
    const Gap latest = *std::ranges::max_element(flow.ways, earlier);
    wait({flow, left, latest, *when(flow, latest)});
  }

  std::optional<Gap> last_of_iteration(const Flow& flow, const BlockNode& loop) const {
    std::optional<Gap> last;
    for (const Gap& gap : places_) {
      const bool is_spine =
          gap.node == &loop || (gap.node->kind == Kind::Sequence && loop_around(gap) == &loop);
      if (is_spine && shows_copies(flow, gap) && !(last && last->node == &loop)) last = gap;
    }
    return last;
  }

  void wait(const Wait& wait) {
    int pending = 0;
    while (pending < kMostPending && has_landed(wait, wait.place, pending + 1)) ++pending;
    // All groups may be under way because there is no pair of instances at all.
    if (pending == kMostPending && !finder_.question().holds(wait.pairs)) return;
    const auto [at, fresh] = plan_.waits.emplace(wait.place, pending);
    if (!fresh) at->second = std::min(at->second, pending);
    waits_.push_back(wait);
  }

  // Whether all that the pairs read has landed at a place where `pending` groups may be under way:
  // no pair of instances has fewer than `pending` commits in between. A question to the integer
  // sets, so open sizes and triangular loops are decided for all their values at once.
  bool has_landed(const Wait& wait, const Gap& place, int pending) const {
    std::vector<Constraint> some = wait.pairs;
    some.push_back(ir::at_least(pending - 1, commits(wait, place)));
    return !finder_.question().holds(some);
  }

  // What one barrier waits for has often landed at another one already. Every pair keeps one that
  // it can rely on. Greedy in the order of the text, and then each wait that is left becomes as
  // weak as it may: one more group under way as long as all pairs stay served.
  void drop_needless_waits() {
    for (const auto& [place, pending] : std::map<Gap, int>(plan_.waits)) {
      plan_.waits.erase(place);
      if (!are_enough()) plan_.waits.emplace(place, pending);
    }
    for (auto& [place, pending] : plan_.waits) {
      while (pending <= kMostPending && are_enough()) ++pending;
      --pending;
    }
  }
  bool are_enough() const {
    return std::ranges::all_of(waits_, [&](const Wait& wait) {
      return std::ranges::any_of(plan_.waits, [&](const auto& at) {
        return (at.first == wait.place || wait.flow.ways.contains(at.first)) &&
               has_landed(wait, at.first, at.second);
      });
    });
  }
};

}  // namespace

Stmt AsyncCopies::begun(const Stmt& region) const {
  if (buffers.empty()) return region;
  const auto* store = std::get_if<ir::Store>(&region->op);
  if (!store) return ir::rewrite_children(region, [&](const Stmt& child) { return begun(child); });
  if (!buffers.contains(store->buffer)) return region;
  ir::Store copy = *store;
  copy.async = true;
  return ir::make_store(std::move(copy));
}

AsyncCopies async_copies(const BlockTree& tree, const ir::LoopProgram& program,
                         const std::vector<Conflict>& conflicts, const std::set<Gap>& places,
                         const std::set<Gap>& of_block, ConflictFinder& finder) {
  return Planner(tree, program, conflicts, places, of_block, finder).run();
}

}  // namespace polyte::lower
