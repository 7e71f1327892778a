#include "graph/graph.h"

#include <algorithm>
#include <queue>

#include "graph/op.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

std::string join(const Dims& dims) {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text;
}

// Nodes that some graph output needs, found backwards from the outputs.
std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  std::vector<NodeId> work;
  auto need = [&](ValueId id) {
    if (id == kNoValue) return;
    const NodeId producer = graph.value(id).producer;
    if (producer == kNoNode || live[static_cast<std::size_t>(producer)]) return;
    live[static_cast<std::size_t>(producer)] = true;
    work.push_back(producer);
  };
  for (ValueId id : graph.outputs) need(id);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    for (ValueId input : graph.node(id).inputs) need(input);
  }
  return live;
}

// A topological order of the marked nodes that keeps the present order wherever it may: Kahn's
// algorithm, in which of the nodes that are ready the one that stands first goes first.
std::vector<NodeId> stable_order(const Graph& graph, const std::vector<bool>& live) {
  const auto consumers = consumers_of(graph);
  std::vector<int> waiting(graph.nodes.size(), 0);
  // The least number first.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    for (ValueId input : graph.nodes[n].inputs) {
      // Operand positions are counted, not producers: consumers_of names a reader as often.
      if (input != kNoValue && graph.value(input).producer != kNoNode) ++waiting[n];
    }
    if (waiting[n] == 0) ready.push(static_cast<NodeId>(n));
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (ValueId output : graph.node(id).outputs) {
      if (output == kNoValue) continue;
      for (NodeId user : consumers[static_cast<std::size_t>(output)]) {
        if (live[static_cast<std::size_t>(user)] && --waiting[static_cast<std::size_t>(user)] == 0)
          ready.push(user);
      }
    }
  }
  POLYTE_CHECK(order.size() == static_cast<std::size_t>(std::ranges::count(live, true)),
               "the graph has a cycle");
  return order;
}

}  // namespace

// base, base_1, base_2, ..: each stem remembers the next suffix to try, so that a thousand nodes
// of one name do not each start the search at 1. A candidate may be taken already, by a base
// that is called like it.
std::string NameTable::claim(const std::string& base) {
  std::string stem = base.empty() ? "unnamed" : base;
  auto [entry, is_new] = next_.try_emplace(stem, 1);
  if (is_new) return stem;
  for (int suffix = entry->second;; ++suffix) {
    std::string candidate = stem + "_" + std::to_string(suffix);
    if (!next_.try_emplace(candidate, 1).second) continue;
    // Looked up anew: the insertion may have moved what `entry` points to.
    next_[stem] = suffix + 1;
    return candidate;
  }
}

bool operator==(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

std::string to_string(const TensorType& type) {
  return std::string(polyte::to_string(type.dtype)) + "[" + join(type.shape) + "]";
}

std::int64_t element_count(const Dims& shape) { return checked_product(shape); }

// Of shapes of rank 2 or more.
std::int64_t spatial_size(const Dims& shape) {
  return element_count(Dims(shape.begin() + 2, shape.end()));
}

std::int64_t size_in_bytes(const TensorType& type) {
  return checked_mul(element_count(type.shape), polyte::size_in_bytes(type.dtype));
}

ValueId Graph::add_input(std::string value_name, TensorType type) {
  const auto id = static_cast<ValueId>(values.size());
  values.push_back({value_names_.claim(value_name), std::move(type), nullptr, kNoNode});
  inputs.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string value_name, const Tensor& tensor) {
  POLYTE_CHECK(
      tensor.bytes && static_cast<std::int64_t>(tensor.bytes->size()) == size_in_bytes(tensor.type),
      "constant '" + value_name + "' has other than " + to_string(tensor.type) + " in bytes");
  const auto id = static_cast<ValueId>(values.size());
  values.push_back({value_names_.claim(value_name), tensor.type, tensor.bytes, kNoNode});
  return id;
}

NodeId Graph::add_node(std::string node_name, OpKind op, Attributes attributes,
                       std::vector<ValueId> node_inputs,
                       const std::vector<std::string>& output_names) {
  Node node{node_names_.claim(node_name), op, std::move(attributes), std::move(node_inputs), {}};
  node.outputs.resize(output_names.size(), kNoValue);
  // Before any value is appended: a node that is refused leaves the graph as it was.
  auto types = infer_types(*this, node);
  if (!types) {
    throw UserError(
        ExitStatus::InvalidInput,
        "node '" + node.name + "' (" + std::string(to_string(op)) + "): " + types.error().reason);
  }
  POLYTE_CHECK(output_names.size() <= types->size(),
               "node '" + node.name + "' has too many outputs");
  const auto id = static_cast<NodeId>(nodes.size());
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) continue;
    node.outputs[i] = static_cast<ValueId>(values.size());
    values.push_back({value_names_.claim(output_names[i]), (*types)[i], nullptr, id});
  }
  nodes.push_back(std::move(node));
  return id;
}

// In this order: which nodes stay, which values these use, then new numbers for both. Values
// keep their relative order.
void Graph::normalise() {
  const std::vector<NodeId> order = stable_order(*this, live_nodes(*this));
  std::vector<ValueId> renumbered(values.size(), kNoValue);
  std::vector<bool> used(values.size(), false);
  auto use = [&](ValueId id) {
    if (id != kNoValue) used[static_cast<std::size_t>(id)] = true;
  };
  for (ValueId id : inputs) use(id);
  for (ValueId id : outputs) use(id);
  for (NodeId id : order) {
    for (ValueId input : node(id).inputs) use(input);
  }
  // The first output of a node stays even where only another one is read; further outputs that
  // nobody uses become kNoValue below.
  for (NodeId id : order) use(node(id).outputs.front());
  std::vector<Value> kept;
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (!used[v]) continue;
    renumbered[v] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(values[v]));
    // Set again below, where the node has its new number.
    kept.back().producer = kNoNode;
  }
  values = std::move(kept);
  auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids)
      id = id == kNoValue ? kNoValue : renumbered[static_cast<std::size_t>(id)];
  };
  renumber(inputs);
  renumber(outputs);
  std::vector<Node> sorted;
  for (NodeId id : order) {
    Node& moved = sorted.emplace_back(std::move(nodes[static_cast<std::size_t>(id)]));
    renumber(moved.inputs);
    renumber(moved.outputs);
    for (ValueId output : moved.outputs) {
      if (output != kNoValue)
        values[static_cast<std::size_t>(output)].producer = static_cast<NodeId>(sorted.size() - 1);
    }
  }
  nodes = std::move(sorted);
}

bool Graph::is_output(ValueId id) const { return std::ranges::find(outputs, id) != outputs.end(); }

std::vector<std::vector<NodeId>> consumers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> consumers(graph.values.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId input : graph.nodes[n].inputs) {
      if (input != kNoValue)
        consumers[static_cast<std::size_t>(input)].push_back(static_cast<NodeId>(n));
    }
  }
  return consumers;
}

}  // namespace polyte::graph
