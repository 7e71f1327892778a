#include "graph/passes/merge_common_nodes.h"

#include <map>
#include <string_view>
#include <tuple>

#include "graph/passes/replacements.h"

namespace polyte::graph {

namespace {

std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(value.data->data()), value.data->size()};
}

// By type, shape and bytes: NaNs of the same bits are one constant, 0 and -0 are two.
int merge_constants(const Graph& graph, Replacements& replacements) {
  int merged = 0;
  std::map<std::tuple<DType, Dims, std::string_view>, ValueId> known;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.values.size()); ++id) {
    const Value& value = graph.value(id);
    if (!value.is_constant()) continue;
    const auto [same, is_new] =
        known.try_emplace({value.type.dtype, value.type.shape, bytes_of(value)}, id);
    if (!is_new && replacements.replace(id, same->second)) ++merged;
  }
  return merged;
}

// Does `kept` offer every output that is wanted of `node`?
bool offers_outputs_of(const Node& kept, const Node& node) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    if (i >= kept.outputs.size() || kept.outputs[i] == kNoValue) return false;
  }
  return true;
}

bool replace_outputs(const Node& node, const Node& kept, Replacements& replacements) {
  bool all = true;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue)
      all = replacements.replace(node.outputs[i], kept.outputs[i]) && all;
  }
  return all;
}

}  // namespace

PassResult merge_common_nodes(Graph& graph) {
  PassResult result;
  Replacements replacements(graph);
  result.rewrites += merge_constants(graph, replacements);
  std::map<std::pair<OpKind, std::vector<ValueId>>, std::vector<NodeId>> known;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    Node& node = graph.nodes[static_cast<std::size_t>(id)];
    replacements.update_operands(node);
    // Operands have been replaced by what they are merged into, so that equal chains meet from
    // their beginnings on.
    std::vector<NodeId>& candidates = known[{node.op, node.inputs}];
    bool merged = false;
    for (NodeId candidate : candidates) {
      const Node& kept = graph.node(candidate);
      if (!(kept.attributes == node.attributes) || !offers_outputs_of(kept, node)) continue;
      // Refused if both give a graph output its name: then the node stays, as one more
      // candidate.
      merged = replace_outputs(node, kept, replacements);
      break;
    }
    if (merged) ++result.rewrites;
    if (!merged) candidates.push_back(id);
  }
  replacements.finish();
  return result;
}

}  // namespace polyte::graph
