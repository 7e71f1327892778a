#include "graph/passes/merge_reshapes.h"

namespace polyte::graph {

namespace {

// Dimensions of more than one element keep their order.
bool moves_only_unit_dimensions(const Graph& graph, const Node& node) {
  if (node.op != OpKind::Transpose) return false;
  const Dims& shape = graph.value(node.inputs.at(0)).type.shape;
  std::int64_t last = -1;
  for (std::int64_t dim : std::get<TransposeAttributes>(node.attributes).perm) {
    if (shape.at(static_cast<std::size_t>(dim)) == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

}  // namespace

PassResult merge_reshapes(Graph& graph) {
  PassResult result;
  for (Node& node : graph.nodes) {
    if (moves_only_unit_dimensions(graph, node)) {
      node.op = OpKind::Reshape;
      node.attributes = ShapeAttributes{graph.value(node.outputs.at(0)).type.shape};
      ++result.rewrites;
    }
    // The operand came before and is merged already: one step shortens a chain of any length.
    if (node.op != OpKind::Reshape) continue;
    const Value& operand = graph.value(node.inputs.at(0));
    if (operand.producer == kNoNode || graph.node(operand.producer).op != OpKind::Reshape) continue;
    node.inputs[0] = graph.node(operand.producer).inputs.at(0);
    ++result.rewrites;
  }
  graph.normalise();
  return result;
}

}  // namespace polyte::graph
