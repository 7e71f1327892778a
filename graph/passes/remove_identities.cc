#include "graph/passes/remove_identities.h"

#include <algorithm>

#include "graph/passes/replacements.h"

namespace polyte::graph {

namespace {

bool all_equal_to(const Dims& dims, std::int64_t value) {
  return std::ranges::all_of(dims, [value](std::int64_t dim) { return dim == value; });
}

bool is_identity(const Graph& graph, const Node& node) {
  const TensorType& from = graph.value(node.inputs.at(0)).type;
  const TensorType& to = graph.value(node.outputs.at(0)).type;
  if (!(from == to)) return false;
  switch (node.op) {
    case OpKind::Identity:
    case OpKind::Reshape:
    case OpKind::Expand:
    case OpKind::Cast:
      return true;
    case OpKind::Transpose: {
      const Dims& perm = std::get<TransposeAttributes>(node.attributes).perm;
      // A sorted permutation is the identity; equal shapes alone say little, as [4, 4] has two.
      return std::ranges::is_sorted(perm);
    }
    case OpKind::Slice: {
      const auto& slice = std::get<SliceAttributes>(node.attributes);
      return all_equal_to(slice.starts, 0) && all_equal_to(slice.steps, 1);
    }
    case OpKind::Pad: {
      const auto& pad = std::get<PadAttributes>(node.attributes);
      return all_equal_to(pad.begin, 0) && all_equal_to(pad.end, 0);
    }
    case OpKind::Tile:
      return all_equal_to(std::get<TileAttributes>(node.attributes).repeats, 1);
    case OpKind::Concat:
      return node.inputs.size() == 1;
    default:
      return false;
  }
}

}  // namespace

PassResult remove_identities(Graph& graph) {
  PassResult result;
  Replacements replacements(graph);
  for (Node& node : graph.nodes) {
    replacements.update_operands(node);
    if (!is_identity(graph, node)) continue;
    if (replacements.replace(node.outputs[0], node.inputs[0])) ++result.rewrites;
  }
  replacements.finish();
  return result;
}

}  // namespace polyte::graph
