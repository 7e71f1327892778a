#include "tests/graph/reference_partition.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace polyte::graph::testing {

namespace {

using enum OpPattern;

int common_ancestor(const SweptTree& tree, int a, int b, OpPattern& pattern) {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    const bool climb_a = tree.depth[a] >= tree.depth[b];
    const bool climb_b = tree.depth[b] >= tree.depth[a];
    if (climb_a) {
      pattern = std::max(pattern, tree.pattern[a]);
      a = tree.parent[a];
    }
    if (climb_b) {
      pattern = std::max(pattern, tree.pattern[b]);
      b = tree.parent[b];
    }
  }
  return a;
}

struct Walker {
  const FusionGraph& graph;
  std::vector<std::vector<int>> consumers;
  // Set numbers are replaced one by one; `count` keeps stale values.
  std::vector<int> set_of, count;
  std::vector<OpPattern> pattern;

  explicit Walker(const FusionGraph& g)
      : graph(g), consumers(g.nodes.size()), count(g.nodes.size(), 1) {
    for (const FusionEdge& edge : g.edges) consumers[edge.producer].push_back(edge.consumer);
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
      set_of.push_back(static_cast<int>(n));
      pattern.push_back(g.nodes[n].pattern);
    }
  }
  int size_of_paths(int node, int sink, std::set<int>& seen) const {
    if (node == sink || !seen.insert(node).second) return 0;
    int sum = count[node];
    for (int next : consumers[node]) sum += size_of_paths(next, sink, seen);
    return sum;
  }
  bool all_on_paths(int source, int sink,
                    const std::function<bool(OpPattern, bool)>& condition) const {
    std::set<int> seen;
    const std::function<bool(int)> visit = [&](int node) {
      if (!seen.insert(node).second) return true;
      if (!condition(pattern[set_of[node]], node == sink)) return false;
      return node == sink || std::all_of(consumers[node].begin(), consumers[node].end(), visit);
    };
    return std::all_of(consumers[source].begin(), consumers[source].end(), visit);
  }
  void unite(int child, int target) {
    const int from = set_of[child], to = set_of[target];
    if (from == to) return;
    count[to] += count[from];
    if (pattern[from] == OutEWiseFusable) pattern[to] = std::max(pattern[to], pattern[from]);
    for (int& set : set_of) set = set == from ? to : set;
  }
  void unite_paths(int node, int sink, std::set<int>& seen) {
    if (node == sink || !seen.insert(node).second) return;
    unite(node, sink);
    for (int next : consumers[node]) unite_paths(next, sink, seen);
  }
  void try_node(int node, int sink, OpPattern relation, int phase, int max_group_nodes);
};

void Walker::try_node(int node, int sink, OpPattern relation, int phase, int max_group_nodes) {
  if (pattern[node] == Opaque || sink < 0) return;
  std::set<int> counted, seen;
  if (count[set_of[sink]] + size_of_paths(node, sink, counted) > max_group_nodes) return;
  const auto injective = [](OpPattern kind, bool) { return kind <= Injective; };
  bool fits = false;
  if (phase == 2) {
    if (pattern[node] > Injective || pattern[set_of[sink]] == Tuple) return;
    fits = pattern[sink] == Tuple && pattern[set_of[sink]] <= Injective &&
           all_on_paths(node, sink, injective);
  } else if (set_of[node] == set_of[sink] || pattern[sink] == Tuple) {
    return;
  } else if (pattern[node] == OutEWiseFusable) {
    fits = phase == 0 && relation == ElemWise &&
           all_on_paths(node, sink, [](OpPattern kind, bool) { return kind <= Broadcast; });
  } else if (pattern[node] <= Broadcast) {
    fits =
        (relation <= Injective || relation == CommReduce) &&
        all_on_paths(node, sink, [](OpPattern kind, bool is_sink) {
          return kind <= Injective || (is_sink && (kind == CommReduce || kind == OutEWiseFusable));
        });
  } else if (pattern[node] == Injective || pattern[node] == Tuple) {
    fits = phase == 1 && all_on_paths(node, sink, injective);
  }
  if (fits) unite_paths(node, sink, seen);
}

}  // namespace

SweptTree sweep_post_dominators(const FusionGraph& graph) {
  const std::size_t count = graph.nodes.size();
  SweptTree tree = {std::vector<int>(count, -1), std::vector<int>(count, 1),
                    std::vector<OpPattern>(count, Opaque)};
  std::vector<std::vector<FusionEdge>> out(count);
  for (const FusionEdge& edge : graph.edges) out[edge.producer].push_back(edge);
  for (std::size_t i = count; i-- > 0;) {
    if (graph.nodes[i].external || out[i].empty()) continue;
    OpPattern pattern = out[i][0].pattern;
    int parent = out[i][0].consumer;
    for (const FusionEdge& edge : out[i]) {
      parent = common_ancestor(tree, parent, edge.consumer, pattern);
      pattern = std::max(pattern, edge.pattern);
    }
    tree.parent[i] = parent;
    tree.depth[i] = parent < 0 ? 1 : tree.depth[parent] + 1;
    tree.pattern[i] = pattern;
  }
  return tree;
}

std::vector<std::vector<int>> reference_groups(const FusionGraph& graph, int max_group_nodes) {
  const SweptTree tree = sweep_post_dominators(graph);
  Walker walker(graph);
  for (int phase = 0; phase < 3; ++phase) {
    for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node) {
      walker.try_node(node, tree.parent[node], tree.pattern[node], phase, max_group_nodes);
    }
  }
  std::map<int, std::vector<int>> members;
  for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node)
    members[walker.set_of[node]].push_back(node);
  std::vector<std::vector<int>> groups;
  for (auto& [set, nodes] : members) groups.push_back(std::move(nodes));
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.back() < b.back(); });
  return groups;
}

}  // namespace polyte::graph::testing
