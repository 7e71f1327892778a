#include "graph/passes/merge_transposes.h"

namespace polyte::graph {

PassResult merge_transposes(Graph& graph) {
  PassResult result;
  for (Node& node : graph.nodes) {
    if (node.op != OpKind::Transpose) continue;
    const Value& operand = graph.value(node.inputs.at(0));
    if (operand.producer == kNoNode || graph.node(operand.producer).op != OpKind::Transpose)
      continue;
    const Node& inner = graph.node(operand.producer);
    const Dims& first = std::get<TransposeAttributes>(inner.attributes).perm;
    // Output dimension d is dimension perm[d] of the inner result, which is dimension
    // first[perm[d]] of x.
    for (std::int64_t& dim : std::get<TransposeAttributes>(node.attributes).perm) {
      dim = first.at(static_cast<std::size_t>(dim));
    }
    node.inputs[0] = inner.inputs.at(0);
    ++result.rewrites;
  }
  graph.normalise();
  return result;
}

}  // namespace polyte::graph
