#include "graph/fuse.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "graph/join_groups.h"
#include "graph/post_dominators.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

constexpr int kPhases = 3;

// Which sources may be fused in which phase, and the largest pattern allowed for any edge on the
// paths to the post-dominator, for the groups strictly between, and for the group at the end.
//
//    source --edge--> inner --edge--> sink = immediate post-dominator of source
//           \--edge--> inner --edge--/
//
// All of it becomes one group or nothing does.
struct Rule {
  FusionRule name;
  int first_phase, last_phase;
  OpPattern source_min, source_max;
  OpPattern edges, inner, sink;
};
using enum OpPattern;
constexpr std::array<Rule, 5> kRules = {{
    {FusionRule::ElementwiseTail, 0, 0, OutEWiseFusable, OutEWiseFusable, ElemWise, Broadcast,
     Broadcast},
    // The sink may be an element-wise node that a contraction has joined already.
    {FusionRule::ElementwiseSource, 0, 1, ElemWise, Broadcast, CommReduce, Injective,
     OutEWiseFusable},
    // Not before phase 1, so that contractions are complete.
    {FusionRule::InjectiveSource, 1, 1, Injective, Injective, Opaque, Injective, Injective},
    {FusionRule::InjectiveSource, 1, 1, Tuple, Tuple, Opaque, Injective, Injective},
    {FusionRule::IntoTuple, 2, 2, ElemWise, Injective, Opaque, Injective, Injective},
}};

const Rule* find_rule(int phase, OpPattern source) {
  for (const Rule& rule : kRules) {
    if (rule.first_phase <= phase && phase <= rule.last_phase && rule.source_min <= source &&
        source <= rule.source_max) {
      return &rule;
    }
  }
  return nullptr;
}

// A set of nodes, as union-find. `pattern`, `nodes` and `has_anchor` are those of the set when
// the node is its root; of a node that is no root any more they keep their last value, as TVM's do
// (its node count reads them).
struct Group {
  int parent;
  OpPattern pattern;
  int nodes = 1;
  bool has_anchor;
};

class Partitioner {
 public:
  Partitioner(const FusionGraph& graph, const FusionOptions& options);
  void run_phase(int phase);
  void release_tuple_gets();
  FusionReport report();

 private:
  // The nodes on all paths from a source to its post-dominator, both included, source first,
  // sink last.
  using Path = std::vector<int>;

  int root_of(int node);
  std::optional<Path> path_between(int source, int sink) const;
  bool is_within_size(const Path& path);
  FusionVerdict first_verdict(int node) const;
  void record(int producer, const EdgeDecision& decision);
  EdgeDecision decide(int source, int phase, const Rule& rule);
  void judge_edges(const Path& path, const Rule& rule, EdgeDecision& decision) const;
  void judge_groups(const Path& path, const Rule& rule, EdgeDecision& decision);
  void judge_keep_apart(const Path& path, EdgeDecision& decision);
  void commit(const Path& path, const EdgeDecision& decision);
  void merge(int child, int parent);

  const FusionGraph& graph_;
  const FusionOptions& options_;
  std::vector<std::vector<int>> out_edges_;  // edge numbers by producer
  std::vector<int> post_dominator_;
  std::vector<Group> groups_;
  std::vector<EdgeDecision> decisions_;  // by edge
  std::vector<bool> released_;           // nodes that have left their group
};

Partitioner::Partitioner(const FusionGraph& graph, const FusionOptions& options)
    : graph_(graph),
      options_(options),
      out_edges_(graph.nodes.size()),
      decisions_(graph.edges.size()),
      released_(graph.nodes.size()) {
  const int count = static_cast<int>(graph.nodes.size());
  std::vector<std::vector<int>> consumers(graph.nodes.size());
  std::vector<bool> external(graph.nodes.size());
  for (int node = 0; node < count; ++node) {
    const OpPattern pattern = graph.nodes[node].pattern;
    groups_.push_back(
        {.parent = node, .pattern = pattern, .has_anchor = pattern == OutEWiseFusable});
    external[node] = graph.nodes[node].external;
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto [producer, consumer, pattern] = graph.edges[e];
    POLYTE_CHECK(0 <= producer && producer < consumer && consumer < count,
                 "edges follow the topological order");
    consumers[producer].push_back(consumer);
    out_edges_[producer].push_back(static_cast<int>(e));
  }
  post_dominator_ = immediate_post_dominators(consumers, external);
  for (int node = 0; node < count; ++node) {
    if (external[node]) post_dominator_[node] = kNoPostDominator;
    record(node, {.verdict = first_verdict(node),
                  .source_pattern = graph.nodes[node].pattern,
                  .source = node});
  }
}

int Partitioner::root_of(int node) {
  while (groups_[node].parent != node)
    node = groups_[node].parent = groups_[groups_[node].parent].parent;
  return node;
}

// None when there are more nodes than a group may hold.
std::optional<Partitioner::Path> Partitioner::path_between(int source, int sink) const {
  std::set<int> seen = {source, sink};
  Path pending = {source};
  while (!pending.empty()) {
    const int node = pending.back();
    pending.pop_back();
    for (int edge : out_edges_[node]) {
      const int consumer = graph_.edges[edge].consumer;
      // The search stops at the sink, which is in `seen` from the start: as the sink post-dominates
      // the source, all that is reached without passing it lies between the two.
      if (seen.insert(consumer).second) pending.push_back(consumer);
    }
    if (static_cast<int>(seen.size()) > options_.max_group_nodes) return std::nullopt;
  }
  // Ascending numbers: the source comes first and the sink last.
  return Path(seen.begin(), seen.end());
}

// The count of a node that has joined another group is the one that it had as a root (see Group):
// what TVM adds up, which may count a node twice.
bool Partitioner::is_within_size(const Path& path) {
  std::int64_t nodes = groups_[root_of(path.back())].nodes;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) nodes += groups_[path[i]].nodes;
  return nodes <= options_.max_group_nodes;
}

// The first edge on the paths that is too complex for the rule, if any. The walk goes on behind it,
// for `path_pattern` is that of all edges.
void Partitioner::judge_edges(const Path& path, const Rule& rule, EdgeDecision& decision) const {
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    for (int edge : out_edges_[path[i]]) {
      const OpPattern pattern = graph_.edges[edge].pattern;
      decision.path_pattern = std::max(decision.path_pattern, pattern);
      if (pattern <= rule.edges || decision.verdict != FusionVerdict::Fused) continue;
      decision.verdict = FusionVerdict::EdgeTooComplex;
      decision.witness = graph_.edges[edge].consumer;
      decision.witness_pattern = pattern;
    }
  }
}

void Partitioner::judge_groups(const Path& path, const Rule& rule, EdgeDecision& decision) {
  if (decision.verdict != FusionVerdict::Fused) return;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const OpPattern pattern = groups_[root_of(path[i])].pattern;
    if (pattern <= (path[i] == path.back() ? rule.sink : rule.inner)) continue;
    decision.verdict = FusionVerdict::GroupTooComplex;
    decision.witness = path[i];
    decision.witness_pattern = pattern;
    return;
  }
}

// The group would be the union of the groups on the path; it is refused where it holds all nodes of
// one request.
void Partitioner::judge_keep_apart(const Path& path, EdgeDecision& decision) {
  if (decision.verdict != FusionVerdict::Fused || options_.keep_apart.empty()) return;
  std::set<int> roots;
  for (int node : path) roots.insert(root_of(node));
  for (std::size_t i = 0; i < options_.keep_apart.size(); ++i) {
    const std::vector<int>& nodes = options_.keep_apart[i].nodes;
    if (!std::ranges::all_of(nodes, [&](int node) { return roots.count(root_of(node)) != 0; }))
      continue;
    decision.verdict = FusionVerdict::KeptApart;
    decision.keep_apart = static_cast<int>(i);
    return;
  }
}

// Only a contraction hands its pattern on: an element-wise node that joins an element-wise sink
// leaves the sink's pattern as it is, while Conv + Relu is OutEWiseFusable from then on. No rule
// lets two contractions meet: inner groups are at most Injective, and the one rule whose sink may
// be OutEWiseFusable has sources that are at most Broadcast.
void Partitioner::merge(int child, int parent) {
  child = root_of(child);
  parent = root_of(parent);
  if (child == parent) return;
  Group& from = groups_[child];
  Group& to = groups_[parent];
  from.parent = parent;
  to.nodes += from.nodes;
  if (!from.has_anchor) return;
  POLYTE_CHECK(!to.has_anchor, "two contractions would meet in one group");
  to.has_anchor = true;
  to.pattern = std::max(to.pattern, from.pattern);
}

void Partitioner::commit(const Path& path, const EdgeDecision& decision) {
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    merge(path[i], path.back());
    for (int edge : out_edges_[path[i]]) {
      if (decisions_[edge].fused()) continue;
      EdgeDecision fused = decision;
      fused.producer = graph_.edges[edge].producer;
      fused.consumer = graph_.edges[edge].consumer;
      // Also replaces what an earlier phase said against the edge.
      decisions_[edge] = fused;
    }
  }
}

// May `source` join its post-dominator by this rule? Commits when it may.
EdgeDecision Partitioner::decide(int source, int phase, const Rule& rule) {
  const int sink = post_dominator_[source];
  EdgeDecision decision = {.verdict = FusionVerdict::Fused,
                           .phase = phase,
                           .rule = rule.name,
                           .source_pattern = groups_[source].pattern,
                           .source = source,
                           .post_dominator = sink};
  const std::optional<Path> path = path_between(source, sink);
  if (!path || !is_within_size(*path)) {
    decision.verdict = FusionVerdict::TooManyNodes;
    return decision;
  }
  judge_edges(*path, rule, decision);
  judge_groups(*path, rule, decision);
  judge_keep_apart(*path, decision);
  if (decision.fused()) commit(*path, decision);
  return decision;
}

void Partitioner::run_phase(int phase) {
  for (int node = 0; node < static_cast<int>(graph_.nodes.size()); ++node) {
    const int sink = post_dominator_[node];
    if (sink == kNoPostDominator || root_of(node) == root_of(sink)) continue;
    // Phase 2 is for sinks that are tuples, the others for all else. The pattern is the sink's own:
    // as a root or not, a Tuple stays one here, and the rule looks at the group that it has joined.
    if ((groups_[sink].pattern == Tuple) != (phase == 2)) continue;
    const Rule* rule = find_rule(phase, groups_[node].pattern);
    if (rule == nullptr) continue;
    const EdgeDecision decision = decide(node, phase, *rule);
    if (!decision.fused()) record(node, decision);
  }
}

// The verdict on the edges out of a node that no rule ever takes up. What is left at the end is a
// source for which phase 2, the one that looks at sinks that are tuples, has no rule: a contraction
// or another tuple.
FusionVerdict Partitioner::first_verdict(int node) const {
  if (!options_.enabled) return FusionVerdict::Disabled;
  if (graph_.nodes[node].pattern == Opaque) return FusionVerdict::SourceIsOpaque;
  if (graph_.nodes[node].pattern == CommReduce) return FusionVerdict::SourceIsReduction;
  if (post_dominator_[node] == kNoPostDominator) return FusionVerdict::NoPostDominator;
  return FusionVerdict::SinkIsTuple;
}

void Partitioner::record(int producer, const EdgeDecision& decision) {
  for (int edge : out_edges_[producer]) {
    decisions_[edge] = decision;
    decisions_[edge].producer = producer;
    decisions_[edge].consumer = graph_.edges[edge].consumer;
  }
}

void Partitioner::release_tuple_gets() {
  for (const FusionEdge& into : graph_.edges) {
    const int node = into.consumer;
    if (!graph_.nodes[node].is_tuple_get || root_of(into.producer) == root_of(node)) continue;
    released_[node] = true;
    for (int edge : out_edges_[node]) {
      if (decisions_[edge].fused()) decisions_[edge].verdict = FusionVerdict::TupleIsOutside;
    }
  }
}

FusionReport Partitioner::report() {
  const int count = static_cast<int>(graph_.nodes.size());
  std::vector<int> last(graph_.nodes.size());  // of the group, by its root
  for (int node = 0; node < count; ++node) {
    if (!released_[node]) last[root_of(node)] = node;
  }
  // A group has one exit, its last node, and everything that reads the group comes behind it: the
  // order of the last nodes is topological.
  std::map<int, std::vector<int>> by_last;
  for (int node = 0; node < count; ++node)
    by_last[released_[node] ? node : last[root_of(node)]].push_back(node);

  FusionReport report = {
      .groups = {}, .group_of = std::vector<int>(graph_.nodes.size()), .edges = decisions_};
  for (auto& [node, members] : by_last) {
    for (int member : members) report.group_of[member] = static_cast<int>(report.groups.size());
    report.groups.push_back(std::move(members));
  }
  return report;
}

}  // namespace

FusionReport fuse(const FusionGraph& graph, const FusionOptions& options) {
  Partitioner partitioner(graph, options);
  if (options.enabled) {
    for (int phase = 0; phase < kPhases; ++phase) partitioner.run_phase(phase);
    partitioner.release_tuple_gets();
  }
  FusionReport report = partitioner.report();
  if (!options.keep_together.empty()) join_groups(graph, options, report);
  return report;
}

}  // namespace polyte::graph
