// What a node costs in either layout, and a reorder between them: cycles of one core, by formulas
// over the width of its vectors. Coarse on purpose: only differences matter, and regions that win
// little stay as they are.
//
// Without blocks the lanes of a vector lie along the last dimension, so a stride or a width that
// vectors do not divide leaves lanes idle; a dense convolution may put them along its output
// channels instead and transpose its results as it stores them. In blocks the lanes are channels,
// whatever the window does; padding is work for nothing.
#pragma once

#include "graph/layouts/block_forms.h"

namespace polyte::graph {

class LayoutPrices {
 public:
  LayoutPrices(const Graph& graph, const BlockForms& forms, const VectorUnit& unit)
      : graph_(graph), forms_(forms), unit_(unit), readers_(consumers_of(graph)) {}

  // What the layouts do not change is left out of both: element-wise operators cost their padding.
  std::int64_t plain(NodeId id) const;
  std::int64_t blocked(NodeId id) const;
  // To blocks or back; free where the elements keep their order and no kernel is parted.
  std::int64_t reorder(ValueId id) const;

 private:
  const Graph& graph_;
  const BlockForms& forms_;
  VectorUnit unit_;
  std::vector<std::vector<NodeId>> readers_;  // by value

  const Dims& shape(ValueId id) const { return graph_.value(id).type.shape; }
  bool parts_a_kernel(ValueId id) const;
  double filling(ValueId image) const;
  double vectors(double operations) const;
  double window_operations(const Node& node) const;
  double plain_conv(const Node& node) const;
  double blocked_conv(NodeId id) const;
};

}  // namespace polyte::graph
