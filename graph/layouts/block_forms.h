// Which nodes can compute on channels in blocks, and what they then read: legality only,
// prices are elsewhere.
//
// In blocks of c a value [n, channels, spatial...] is [n, ceil(channels / c), spatial..., c]; where
// c does not divide the channels the last block is padded. Padding is never taken for a channel,
// but weights of zero multiply it, so it must be finite: what each node leaves there is followed
// from zero on, and a node that might leave anything has no form in blocks.
#pragma once

#include <optional>
#include <vector>

#include "graph/layouts/winograd_prices.h"
#include "graph/op.h"

namespace polyte::graph {

// How a node in blocks wants an operand.
enum class OperandForm {
  AsIs,      // absent, or one element
  Plain,     // has no channels: gets a last dimension of extent 1
  Blocked,   // in blocks
  Either,    // as it comes: a dense convolution
  Constant,  // a weight or bias: rewritten when it is compiled
};

struct BlockForm {
  std::vector<OperandForm> operands;  // one per input
  // [n, channels] or [n, channels, 1...]: given as it would be without blocks.
  bool plain_result = false;
};

class BlockForms {
 public:
  // `transforms`: convolutions in blocks will be computed by Winograd's method where that pays, for
  // which they want their input in blocks. `operators`: a test may bring a table of its own.
  BlockForms(const Graph& graph, std::int64_t block,
             const std::optional<WinogradUse>& transforms = std::nullopt,
             OperatorTable operators = all_operators());

  std::int64_t block() const { return block_; }
  const std::optional<WinogradUse>& transforms() const { return transforms_; }
  // Its form, or why it has none.
  const Result<BlockForm>& of(NodeId id) const { return forms_.at(static_cast<std::size_t>(id)); }
  bool has(NodeId id) const { return static_cast<bool>(of(id)); }

 private:
  std::int64_t block_;
  std::optional<WinogradUse> transforms_;
  std::vector<Result<BlockForm>> forms_;
};

// Blocks of `block` that hold so many channels.
inline std::int64_t blocks_of(std::int64_t channels, std::int64_t block) {
  return (channels + block - 1) / block;
}
// The axes that a reduction or a global pool folds.
Dims reduced_axes(const Graph& graph, const Node& node);

}  // namespace polyte::graph
