// Which nodes compute on channels in blocks: the assignment of least predicted cost, of nodes and
// of the reorders between them, exactly, as a minimum cut. A value is reordered once for all its
// readers, so each reorder of a value, to blocks or back, is a vertex of its own beside the nodes.
//
// Nodes on the first side compute in blocks. Each edge costs where its tail is on the first side
// and its head on the second (minimum_cut.h), which is how each price comes in:
//
//    source -> node            plain - blocked   where blocks are cheaper: paid without them
//    node -> sink              blocked - plain   where they cost more: paid with them
//    reader -> entry           never             a reader in blocks puts the entry on its side,
//    entry -> maker            reorder           and what is made plain has to be reordered
//    maker -> exit             reorder           blocks that a plain reader needs: reordered back,
//    exit -> reader            never             unless all readers are in blocks
#pragma once

#include <vector>

#include "graph/layouts/layout_prices.h"
#include "graph/layouts/minimum_cut.h"

namespace polyte::graph {

class LayoutChoice {
 public:
  LayoutChoice(const Graph& graph, const BlockForms& forms, const LayoutPrices& prices);

  // For every node whether it computes in blocks. Forced: all convolutions and pools that can.
  std::vector<bool> choose(bool forced) const;
  // Predicted cycles of all that the choice decides, reorders with it.
  std::int64_t cost(const std::vector<bool>& in_blocks) const;
  // Connected parts of a choice: nodes that hand values in blocks to each other, each in order.
  std::vector<std::vector<NodeId>> regions(const std::vector<bool>& in_blocks) const;

 private:
  // A reader of a value, and what it reads if it computes in blocks.
  struct Use {
    NodeId reader;
    OperandForm form;
  };
  const Graph& graph_;
  const BlockForms& forms_;
  const LayoutPrices& prices_;
  std::vector<std::vector<Use>> uses_;  // by value

  static bool wants_blocks(const Use& use);
  static bool takes_blocks(const Use& use);
  void add_nodes(MinimumCut& cut, bool forced) const;
  void add_entry(MinimumCut& cut, ValueId id) const;
  void add_exit(MinimumCut& cut, ValueId id) const;
  // The node that could compute the value in blocks, or kNoNode.
  NodeId maker_of(ValueId id) const;
  std::int64_t reorders(ValueId id, const std::vector<bool>& in_blocks) const;
};

}  // namespace polyte::graph
