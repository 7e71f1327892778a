// Common subexpressions: of nodes with the same operator, attributes and operands the first one
// serves all; of constants with the same type and bytes as well. No operator of the graph has
// effects, so that is all there is to ask. Nodes that give two graph outputs their names both stay.
// Operands are compared in order: Add(a, b) and Add(b, a) stay two.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult merge_common_nodes(Graph& graph);

}  // namespace polyte::graph
