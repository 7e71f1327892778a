// Replacing values while a pass walks the nodes in order: a table of what stands for what, applied
// to each node's operands as it is met and to the whole graph at the end. Names of graph outputs
// are part of the interface and survive: the value that takes over also takes the name, as does a
// value that the pass has added.
//
//    for (Node& node : graph.nodes) {
//      replacements.update_operands(node);
//      if (is_identity(node)) replacements.replace(node.outputs[0], node.inputs[0]);
//    }
//    replacements.finish();
//
// Types are not compared: whoever calls replace() knows that both values are the same elements.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace polyte::graph {

class Replacements {
 public:
  explicit Replacements(Graph& graph);

  // Lets `to` stand for `from`. Refused (false) where `from` is a graph output and `to` cannot take
  // its name: it is a graph input, or an output itself.
  bool replace(ValueId from, ValueId to);
  // The operands of `node` as they are by now.
  void update_operands(Node& node) const;
  // Applies the table to everything and normalises the graph. To be called once, last.
  void finish();

 private:
  ValueId resolve(ValueId id) const;

  Graph& graph_;
  std::size_t first_added_;          // values from here on were added by the pass
  std::vector<ValueId> stands_for_;  // by value; itself where nothing was replaced
  std::vector<bool> is_output_, is_input_;
};

}  // namespace polyte::graph
