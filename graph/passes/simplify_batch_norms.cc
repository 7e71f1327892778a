#include "graph/passes/simplify_batch_norms.h"

#include "graph/passes/channel_affine.h"
#include "graph/passes/replacements.h"

namespace polyte::graph {

PassResult simplify_batch_norms(Graph& graph) {
  PassResult result;
  Replacements replacements(graph);
  // Without the nodes that are added below.
  const auto count = static_cast<NodeId>(graph.nodes.size());
  for (NodeId id = 0; id < count; ++id) {
    replacements.update_operands(graph.nodes[static_cast<std::size_t>(id)]);
    const Node node = graph.node(id);
    if (node.op != OpKind::BatchNormalization) continue;
    const std::optional<ChannelAffine> affine = channel_affine(graph, node, node.inputs[0], 1);
    if (!affine) continue;
    const TensorType type = graph.value(node.outputs[0]).type;
    // One number per channel, aligned with dimension 1; a vector has one channel only.
    TensorType constant = {type.dtype, Dims(type.shape.size() - 1, 1)};
    if (!constant.shape.empty()) constant.shape[0] = type.shape.at(1);
    const ValueId scale =
        graph.add_constant(node.name + ".scale", make_tensor(constant, affine->scale));
    const ValueId shift =
        graph.add_constant(node.name + ".shift", make_tensor(constant, affine->shift));
    const std::string name = graph.value(node.outputs[0]).name;
    const NodeId mul = graph.add_node(node.name + ".mul", OpKind::Mul, NoAttributes{},
                                      {node.inputs[0], scale}, {name});
    const NodeId add = graph.add_node(node.name + ".add", OpKind::Add, NoAttributes{},
                                      {graph.node(mul).outputs[0], shift}, {name});
    if (replacements.replace(node.outputs[0], graph.node(add).outputs[0])) ++result.rewrites;
  }
  replacements.finish();
  return result;
}

}  // namespace polyte::graph
