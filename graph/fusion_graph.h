// A Graph as fusion sees it: one fusion node per node, one edge per use of another node's value.
// Constants and graph inputs are operands of a group, not members. An edge into a Broadcast
// operator whose output has the shape of the operand is ElemWise, as in TVM.
//
//   FusionGraph abstract = make_fusion_graph(graph);      node numbers are NodeIds
//   FusionReport groups = fuse(abstract, options);
#pragma once

#include "graph/fuse.h"
#include "graph/graph.h"

namespace polyte::graph {

FusionGraph make_fusion_graph(const Graph& graph);

}  // namespace polyte::graph
