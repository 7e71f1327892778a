#include "graph/fusion_graph.h"

#include <algorithm>

#include "graph/op.h"

namespace polyte::graph {

namespace {

bool leaves_graph(const Graph& graph, const Node& node) {
  for (ValueId id : node.outputs) {
    if (id != kNoValue && graph.is_output(id)) return true;
  }
  return false;
}

// An Add of [8, 64] and [64] is Broadcast as a node, but its first operand keeps its shape: what
// computes that one may be fused as into an element-wise operator.
OpPattern pattern_of_use(const Graph& graph, const Node& consumer, OpPattern pattern,
                         ValueId operand) {
  const Dims& shape = graph.value(consumer.outputs.at(0)).type.shape;
  const bool keeps_shape = graph.value(operand).type.shape == shape;
  return pattern == OpPattern::Broadcast && keeps_shape ? OpPattern::ElemWise : pattern;
}

}  // namespace

FusionGraph make_fusion_graph(const Graph& graph) {
  FusionGraph fusion;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    const OpPattern pattern = pattern_of(graph, node);
    fusion.nodes.push_back({.op = std::string(to_string(node.op)),
                            .name = node.name,
                            .pattern = pattern,
                            .is_tuple_get = false,
                            .external = leaves_graph(graph, node),
                            .folded = node.folded});
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId operand = node.inputs[i];
      if (operand == kNoValue || graph.value(operand).producer == kNoNode) continue;
      const auto here = node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(node.inputs.begin(), here, operand) != here) continue;  // x * x is one edge
      fusion.edges.push_back({.producer = graph.value(operand).producer,
                              .consumer = id,
                              .pattern = pattern_of_use(graph, node, pattern, operand)});
    }
  }
  return fusion;
}

}  // namespace polyte::graph
