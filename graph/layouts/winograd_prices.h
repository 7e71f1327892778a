// What a dense convolution costs in blocks of channels, directly and by Winograd's method
// (graph/ops/winograd_conv.cc).
#pragma once

#include "graph/graph.h"

namespace polyte::graph {

struct VectorUnit {
  std::int64_t lanes = 1;  // of f32
  int fma_per_cycle = 1;
};

// What prices are for.
struct WinogradUse {
  VectorUnit unit = {};
  bool any_batch = false;  // the batch is open: they are of one image, so that all sizes agree
  bool always = false;     // whatever it costs, for comparison
};

// Cycles of one core, as in layout_prices.h.
struct WinogradPrices {
  double direct = 0, transformed = 0;
  bool pays() const { return transformed < 0.95 * direct; }  // by more than the prices' error
};

// Of one image where the batch is open. Of a Conv whose channels are, or are to be, in blocks; or
// why it cannot be transformed.
Result<WinogradPrices> winograd_prices(const Graph& graph, const Node& node, std::int64_t block,
                                       const WinogradUse& use);

}  // namespace polyte::graph
