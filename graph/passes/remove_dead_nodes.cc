#include "graph/passes/remove_dead_nodes.h"

namespace polyte::graph {

PassResult remove_dead_nodes(Graph& graph) {
  const std::size_t before = graph.nodes.size();
  graph.normalise();
  return {.rewrites = static_cast<int>(before - graph.nodes.size()), .notes = {}};
}

}  // namespace polyte::graph
