#include "graph/passes/fold_constants.h"

#include <algorithm>

#include "graph/expand.h"
#include "graph/op.h"
#include "graph/passes/replacements.h"

namespace polyte::graph {

namespace {

// Elements read and written, below which the interpreter is fast enough; a contraction does
// more work for each.
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;
constexpr std::int64_t kMostElementsOfContraction = std::int64_t{1} << 16;

// A node without any operand would have nothing to be folded from.
bool has_only_constants(const Graph& graph, const Node& node) {
  int present = 0;
  for (ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    if (!graph.value(id).is_constant()) return false;
    ++present;
  }
  return present > 0;
}

bool is_small(const Graph& graph, const Node& node) {
  std::int64_t elements = 0;
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
    for (ValueId id : *ids)
      elements += id == kNoValue ? 0 : element_count(graph.value(id).type.shape);
  }
  const bool is_contraction = info(node.op).pattern == OpPattern::OutEWiseFusable;
  return elements <= (is_contraction ? kMostElementsOfContraction : kMostElements);
}

// A view shares the bytes of its operand, whatever their size.
std::vector<Tensor> outputs_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (is_view(node.op))
    return {{graph.value(node.outputs[0]).type, graph.value(node.inputs[0]).data}};
  return evaluate(graph, id);
}

}  // namespace

PassResult fold_constants(Graph& graph) { return fold_constants(graph, {}); }

PassResult fold_constants(Graph& graph, const std::set<std::string>& unfolded) {
  PassResult result;
  // In topological order, so that what a folded node feeds is folded in the same walk.
  Replacements replacements(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    Node& node = graph.nodes[static_cast<std::size_t>(id)];
    replacements.update_operands(node);
    if (!has_only_constants(graph, node) || unfolded.contains(node.name)) continue;
    if (!is_view(node.op) && !is_small(graph, node)) {
      result.notes.push_back("node '" + node.name + "' (" + std::string(to_string(node.op)) +
                             ") has constant operands, but is too large to be folded");
      continue;
    }
    const std::vector<Tensor> outputs = outputs_of(graph, id);
    bool replaced = true;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const std::string name = graph.value(node.outputs[i]).name;
      replaced =
          replacements.replace(node.outputs[i], graph.add_constant(name, outputs[i])) && replaced;
    }
    if (replaced) ++result.rewrites;
  }
  replacements.finish();
  return result;
}

}  // namespace polyte::graph
