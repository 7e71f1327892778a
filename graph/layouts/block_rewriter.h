// Rewrites chosen nodes to compute on channels in blocks: mechanism, without a choice. A value
// in blocks is an ordinary value of one dimension more, a reorder a chain of ordinary nodes that
// fuses into one kernel,
//
//   to blocks    Pad (of channels, where the block does not divide them), Reshape, Transpose
//   from blocks  Transpose, Reshape, Slice (of the padding)
//
// a Reshape alone where there is one element per channel. Each value is reordered once each way at
// most. Weights are rewritten here, so that nothing is left to do at run time.
#pragma once

#include <vector>

#include "graph/layouts/block_forms.h"
#include "graph/passes/replacements.h"

namespace polyte::graph {

class BlockRewriter {
 public:
  BlockRewriter(Graph& graph, const BlockForms& forms);

  // In the order of the nodes: each exactly once.
  void rewrite(NodeId id);  // to blocks; forms.has(id)
  void keep(NodeId id);     // as it is; its operands come out of their blocks
  // Outputs come out of their blocks; the graph is normalised.
  void finish();

  // Reorders that move elements.
  int reorders() const { return reorders_; }

 private:
  Graph& graph_;
  const BlockForms& forms_;
  std::int64_t block_;
  Replacements replacements_;
  // Where each value of the old graph is to be had, in blocks and without. A rewritten node makes
  // the blocked one, all else the plain one; the other is made by a reorder when the first reader
  // asks.
  std::vector<ValueId> blocked_, plain_;  // by value; kNoValue: none yet
  std::vector<bool> native_;              // by value: computed in blocks
  int reorders_ = 0;

  const Dims& shape(ValueId id) const { return graph_.value(id).type.shape; }
  ValueId add(const std::string& name, OpKind op, Attributes attributes,
              std::vector<ValueId> inputs);
  ValueId reshape(const std::string& name, ValueId x, Dims to);
  ValueId blocked(ValueId id);
  ValueId plain(ValueId id);
  ValueId to_blocks(ValueId id);
  ValueId from_blocks(ValueId blocks, const std::string& name, Dims plain_shape);
  ValueId operand(const Node& node, std::size_t i, OperandForm form, std::size_t rank);
  ValueId constant(const std::string& name, const Tensor& tensor, std::size_t axis);
  void replace(NodeId id, OpKind op, Attributes attributes, std::vector<ValueId> inputs);
  void rewrite_conv(NodeId id);
  void rewrite_reduction(NodeId id);
  Attributes attributes_of(const Node& node) const;
};

}  // namespace polyte::graph
