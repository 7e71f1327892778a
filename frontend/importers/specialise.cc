#include "frontend/importers/specialise.h"

#include <algorithm>
#include <map>

#include "graph/evaluate.h"

namespace polyte::frontend {

namespace {

constexpr std::int64_t kMostElements = 1 << 20;  // of everything that is evaluated for one operand

// What a value is computed from: nodes in order, and the values that no node computes.
struct Cone {
  std::vector<graph::NodeId> nodes;
  std::vector<ValueId> leaves;
  std::int64_t elements = 0;
};

// Backwards from the value, each value once. Elements are added up to know what evaluation would
// cost.
Cone cone_of(const graph::Graph& graph, ValueId id) {
  Cone cone;
  std::set<ValueId> seen{id};
  std::vector<ValueId> open{id};
  while (!open.empty()) {
    const graph::Value& value = graph.value(open.back());
    const ValueId at = open.back();
    open.pop_back();
    cone.elements += graph::element_count(value.type.shape);
    if (value.producer == graph::kNoNode) {
      cone.leaves.push_back(at);
      continue;
    }
    cone.nodes.push_back(value.producer);
    for (ValueId input : graph.node(value.producer).inputs) {
      if (input != graph::kNoValue && seen.insert(input).second) open.push_back(input);
    }
  }
  std::ranges::sort(cone.leaves);
  // Numbers of nodes are a topological order; the importer appends.
  std::ranges::sort(cone.nodes);
  cone.nodes.erase(std::ranges::unique(cone.nodes).begin(), cone.nodes.end());
  return cone;
}

// The run-time inputs among the leaves become constants; those without a value are reported.
void settle_inputs(ImportState& state, const Cone& cone, const std::string& what) {
  std::string open;
  for (ValueId leaf : cone.leaves) {
    const graph::Value& value = state.graph.value(leaf);
    if (value.is_constant()) continue;
    const std::optional<Tensor> offered = state.offered(value.name);
    if (offered && offered->type == value.type) continue;
    open += (open.empty() ? "'" : ", '") + value.name + "'";
    if (offered)
      open +=
          " (given as " + to_string(offered->type) + ", expected " + to_string(value.type) + ")";
  }
  // Before any input becomes a constant: an operand that is refused leaves the model as it was.
  if (!open.empty())
    throw Unsupported{what + " is " + (cone.nodes.empty() ? "" : "computed from ") + open +
                      ", known only at run time; it is supported as a constant, or as an input "
                      "given with --value"};
  for (ValueId leaf : cone.leaves) {
    graph::Value& value = state.graph.values[static_cast<std::size_t>(leaf)];
    if (value.is_constant()) continue;
    value.data = state.offered(value.name)->bytes;
    std::erase(state.graph.inputs, leaf);
    state.specialised.push_back(value.name);
  }
}

// The cone by itself: constants for leaves, the same nodes.
Tensor evaluate_cone(const graph::Graph& graph, const Cone& cone, ValueId id) {
  graph::Graph alone;
  std::map<ValueId, ValueId> copies;
  for (ValueId leaf : cone.leaves)
    copies[leaf] = alone.add_constant(graph.value(leaf).name, graph.value(leaf).tensor());
  for (graph::NodeId n : cone.nodes) {
    const graph::Node& node = graph.node(n);
    std::vector<ValueId> inputs;
    std::vector<std::string> outputs;
    for (ValueId input : node.inputs)
      inputs.push_back(input == graph::kNoValue ? input : copies.at(input));
    for (ValueId output : node.outputs)
      outputs.push_back(output == graph::kNoValue ? "" : "v" + std::to_string(output));
    const graph::NodeId copy = alone.add_node(node.name, node.op, node.attributes, inputs, outputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      copies[node.outputs[i]] = alone.node(copy).outputs[i];
  }
  alone.outputs = {copies.at(id)};
  return evaluate_graph(alone, {}).front();
}

}  // namespace

Tensor specialised(ImportState& state, ValueId id, const std::string& what) {
  if (state.graph.value(id).is_constant()) return state.graph.value(id).tensor();
  const auto known = state.evaluated.find(id);
  if (known != state.evaluated.end()) return known->second;
  const Cone cone = cone_of(state.graph, id);
  settle_inputs(state, cone, what);
  if (state.graph.value(id).is_constant()) return state.graph.value(id).tensor();
  if (cone.elements > kMostElements) {
    throw Unsupported{what + " is computed from " + std::to_string(cone.elements) +
                      " elements: supported are up to " + std::to_string(kMostElements) +
                      " where the result decides a shape"};
  }
  return state.evaluated[id] = evaluate_cone(state.graph, cone, id);
}

}  // namespace polyte::frontend
