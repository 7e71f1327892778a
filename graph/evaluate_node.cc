// Constant folding by interpreting the expansion of one node.
#include "graph/expand.h"
#include "ir/interpret.h"
#include "support/error.h"

namespace polyte::graph {

std::vector<Tensor> evaluate(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const NodeId nodes[] = {id};
  const Expansion expansion = expand(graph, nodes, "fold");
  const std::vector<const ir::Buffer*> interface = expansion.program.interface();
  ir::Environment buffers;
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role == ir::Role::Out) continue;
    const Value& value = graph.value(expansion.arguments[i]);
    POLYTE_CHECK(value.is_constant(), "evaluate: operand '" + value.name + "' is not a constant");
    buffers[interface[i]->name] = {value.type.dtype, value.type.shape, value.data->copy()};
  }
  ir::interpret(expansion.program, buffers, {});
  std::vector<Tensor> results(node.outputs.size());
  // Interface buffers are in the order of the Program, results in that of the node, where an output
  // that nobody wants has no buffer.
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role != ir::Role::Out) continue;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] != expansion.arguments[i]) continue;
      results[o] = {graph.value(node.outputs[o]).type,
                    std::make_shared<const Bytes>(std::move(buffers.at(interface[i]->name).bytes))};
    }
  }
  return results;
}

}  // namespace polyte::graph
