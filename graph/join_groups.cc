#include "graph/join_groups.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

namespace polyte::graph {

namespace {

class Joiner {
 public:
  Joiner(const FusionGraph& graph, const FusionOptions& options, FusionReport& report)
      : graph_(graph),
        options_(options),
        report_(report),
        group_of_(report.group_of),
        groups_(report.groups) {
    report_.not_joined.assign(options.keep_together.size(), "");
  }

  void run() {
    for (std::size_t i = 0; i < options_.keep_together.size(); ++i) join(i);
    order();
    mark_edges();
  }

 private:
  const FusionGraph& graph_;
  const FusionOptions& options_;
  FusionReport& report_;
  std::vector<int> group_of_;             // by node; numbers of groups_
  std::vector<std::vector<int>> groups_;  // empty ones have joined another

  std::string name_of(int node) const {
    const FusionNode& shown = graph_.nodes[static_cast<std::size_t>(node)];
    return "'" + shown.name + "' (" + shown.op + ")";
  }

  void join(std::size_t request) {
    const auto& [first, second, reason, proposed] = options_.keep_together[request];
    const std::set<int> ends = {group_of_[first], group_of_[second]};
    if (ends.size() == 1) return;
    // The groups on paths between the two ends: those below one end and above the other. Groups
    // have no cycle, so an end is itself below an end only where a path leads there from the other
    // one. All of them have to join: with one left out, the joined group would run before and after
    // it.
    //
    //    A -> B -> C            A and C asked for: {A, B, C}
    //     \-> D -> C                               with D: {A, B, C, D}
    const std::set<int> below = reach(ends, true), above = reach(ends, false);
    std::set<int> joined = ends;
    std::ranges::set_intersection(below, above, std::inserter(joined, joined.end()));
    const bool is_path = std::ranges::any_of(ends, [&](int g) { return below.contains(g); });
    std::vector<int> nodes;
    for (int group : joined)
      nodes.insert(nodes.end(), groups_[group].begin(), groups_[group].end());
    std::ranges::sort(nodes);
    report_.not_joined[request] =
        is_path ? objection(nodes, proposed) : "no path leads from one to the other";
    if (!report_.not_joined[request].empty()) return;
    // Numbers of groups stay: the emptied ones are skipped by order().
    const int into = *joined.begin();
    for (int group : joined) groups_[group].clear();
    for (int node : nodes) group_of_[node] = into;
    groups_[into] = std::move(nodes);
  }

  // The groups that are reached from these along at least one edge, downwards or upwards. The edges
  // between groups are collected anew for each request, as the one before may have joined some.
  std::set<int> reach(const std::set<int>& from, bool down) const {
    std::vector<std::vector<int>> next(groups_.size());
    for (const FusionEdge& edge : graph_.edges) {
      const int producer = group_of_[edge.producer], consumer = group_of_[edge.consumer];
      if (producer != consumer)
        next[down ? producer : consumer].push_back(down ? consumer : producer);
    }
    std::set<int> seen;
    std::vector<int> open(from.begin(), from.end());
    while (!open.empty()) {
      const int group = open.back();
      open.pop_back();
      for (int other : next[group])
        if (seen.insert(other).second) open.push_back(other);
    }
    return seen;
  }

  // Why these nodes cannot be one group; empty if they can.
  std::string objection(const std::vector<int>& nodes, bool proposed) const {
    if (static_cast<int>(nodes.size()) > options_.max_group_nodes)
      return "with all between them they are " + std::to_string(nodes.size()) +
             " operators, a group has at most " + std::to_string(options_.max_group_nodes);
    std::vector<int> anchors;
    for (int node : nodes) {
      const OpPattern pattern = graph_.nodes[node].pattern;
      if (pattern == OpPattern::Opaque || pattern == OpPattern::Tuple)
        return name_of(node) + " is " + std::string(to_string(pattern)) +
               " and always a group of its own";
      if (pattern == OpPattern::OutEWiseFusable) anchors.push_back(node);
    }
    if (anchors.size() > 1 && !proposed)
      return name_of(anchors[0]) + " and " + name_of(anchors[1]) +
             " would meet in one group, which has at most one operator that is OutEWiseFusable";
    for (const KeepApart& apart : options_.keep_apart) {
      const auto is_inside = [&](int node) { return std::ranges::binary_search(nodes, node); };
      if (std::ranges::all_of(apart.nodes, is_inside)) return "that contradicts: " + apart.reason;
    }
    return "";
  }

  // Groups in topological order; among those that are ready, the one whose last node comes first.
  void order() {
    std::vector<std::set<int>> readers(groups_.size());
    std::vector<int> waits(groups_.size());
    for (const FusionEdge& edge : graph_.edges) {
      const int producer = group_of_[edge.producer], consumer = group_of_[edge.consumer];
      if (producer != consumer && readers[producer].insert(consumer).second) ++waits[consumer];
    }
    using Ready = std::pair<int, int>;  // last node, group
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    const auto offer = [&](int group) {
      if (waits[group] == 0 && !groups_[group].empty()) ready.emplace(groups_[group].back(), group);
    };
    for (int group = 0; group < static_cast<int>(groups_.size()); ++group) offer(group);
    report_.groups.clear();
    while (!ready.empty()) {
      const int group = ready.top().second;
      ready.pop();
      for (int node : groups_[group])
        report_.group_of[node] = static_cast<int>(report_.groups.size());
      report_.groups.push_back(groups_[group]);
      for (int reader : readers[group]) {
        --waits[reader];
        offer(reader);
      }
    }
  }

  // Edges that now lie inside a group and that no rule of fuse() had fused: the request that made
  // the group is their reason.
  void mark_edges() {
    for (EdgeDecision& edge : report_.edges) {
      const int group = report_.group_of[edge.producer];
      if (edge.fused() || group != report_.group_of[edge.consumer]) continue;
      for (std::size_t i = 0; i < options_.keep_together.size(); ++i) {
        if (!report_.not_joined[i].empty() ||
            report_.group_of[options_.keep_together[i].first] != group)
          continue;
        edge.verdict = FusionVerdict::Fused;
        edge.rule = FusionRule::AskedFor;
        edge.keep_together = static_cast<int>(i);
      }
    }
  }
};

}  // namespace

void join_groups(const FusionGraph& graph, const FusionOptions& options, FusionReport& report) {
  Joiner(graph, options, report).run();
}

}  // namespace polyte::graph
