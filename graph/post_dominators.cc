#include "graph/post_dominators.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>

#include "support/error.h"

namespace polyte::graph {

namespace {
using Digraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
}

std::vector<int> immediate_post_dominators(const std::vector<std::vector<int>>& consumers,
                                           const std::vector<bool>& leaves_graph) {
  POLYTE_CHECK(consumers.size() == leaves_graph.size(), "one flag per node expected");
  const std::size_t count = consumers.size();
  const std::size_t exit = count;
  // Every edge runs from consumer to producer, and from the virtual exit to what leaves the graph:
  // a dominator from the exit on is a post-dominator of the graph as it was.
  Digraph reversed(count + 1);
  for (std::size_t node = 0; node < count; ++node) {
    for (int consumer : consumers[node])
      add_edge(static_cast<std::size_t>(consumer), node, reversed);
    if (leaves_graph[node] || consumers[node].empty()) add_edge(exit, node, reversed);
  }

  // Boost leaves `null` where a vertex is not reached from the root.
  const auto null = boost::graph_traits<Digraph>::null_vertex();
  std::vector<std::size_t> dominator(count + 1, null);
  const auto map =
      make_iterator_property_map(dominator.begin(), get(boost::vertex_index, reversed));
  lengauer_tarjan_dominator_tree(reversed, vertex(exit, reversed), map);

  std::vector<int> result(count, kNoPostDominator);
  for (std::size_t node = 0; node < count; ++node) {
    POLYTE_CHECK(dominator[node] != null,
                 "node " + std::to_string(node) + " reaches no exit: the graph has a cycle");
    if (dominator[node] != exit) result[node] = static_cast<int>(dominator[node]);
  }
  return result;
}

}  // namespace polyte::graph
