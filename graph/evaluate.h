// Evaluates a graph in the Program interpreter: every group of nodes is expanded and interpreted,
// one after the other. Slow and obvious: the reference for compiled models, conformance cases
// and tests of passes.
//
//   std::vector<Tensor> outputs = evaluate_graph(graph, {image});
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace polyte::graph {

// Outputs in the order of graph.outputs. `inputs` in the order of graph.inputs;
// UserError(InvalidInput) with every operand whose type or number is not the graph's.
std::vector<Tensor> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs);

// The same, expanding whole groups (as fuse() gives them: in topological order): what fused
// kernels compute.
std::vector<Tensor> evaluate_groups(const Graph& graph, std::span<const std::vector<NodeId>> groups,
                                    std::span<const Tensor> inputs);

}  // namespace polyte::graph
