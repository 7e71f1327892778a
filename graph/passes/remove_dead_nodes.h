// Drops the nodes that no graph output needs and the values that nobody reads; graph
// inputs stay, for they are the interface. Other passes leave dead nodes to this one or
// call Graph::normalise() themselves.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult remove_dead_nodes(Graph& graph);

}  // namespace polyte::graph
