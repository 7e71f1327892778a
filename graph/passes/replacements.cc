#include "graph/passes/replacements.h"

#include <utility>

namespace polyte::graph {

Replacements::Replacements(Graph& graph)
    : graph_(graph),
      first_added_(graph.values.size()),
      is_output_(graph.values.size()),
      is_input_(graph.values.size()) {
  for (ValueId id : graph.outputs) is_output_[static_cast<std::size_t>(id)] = true;
  for (ValueId id : graph.inputs) is_input_[static_cast<std::size_t>(id)] = true;
}

bool Replacements::replace(ValueId from, ValueId to) {
  // Passes add values as they go.
  for (std::size_t id = stands_for_.size(); id < graph_.values.size(); ++id)
    stands_for_.push_back(static_cast<int>(id));
  is_output_.resize(graph_.values.size());
  is_input_.resize(graph_.values.size());
  // What `to` itself stands for by now, so that chains stay short.
  const auto source = static_cast<std::size_t>(from),
             target = static_cast<std::size_t>(resolve(to));
  // The target becomes the graph output and takes its name, which it can do for one output only,
  // and not if it is the name of an input.
  if (is_output_[source]) {
    if (is_output_[target] || is_input_[target]) return false;
    is_output_[target] = true;
  }
  if (is_output_[source] || target >= first_added_) {
    // Exchanged, for names are unique, and the value that is replaced lives on until finish().
    std::swap(graph_.values[source].name, graph_.values[target].name);
  }
  stands_for_[source] = static_cast<ValueId>(target);
  return true;
}

ValueId Replacements::resolve(ValueId id) const {
  while (id != kNoValue && static_cast<std::size_t>(id) < stands_for_.size() &&
         stands_for_[static_cast<std::size_t>(id)] != id) {
    id = stands_for_[static_cast<std::size_t>(id)];
  }
  return id;
}

void Replacements::update_operands(Node& node) const {
  for (ValueId& id : node.inputs) id = resolve(id);
}

void Replacements::finish() {
  for (Node& node : graph_.nodes) update_operands(node);
  for (ValueId& id : graph_.outputs) id = resolve(id);
  graph_.normalise();
}

}  // namespace polyte::graph
