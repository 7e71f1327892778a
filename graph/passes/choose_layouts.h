// Lays channels out in blocks as long as a vector where that pays (NCHWc), region by region:
//
//   MaxPool(Conv(x: [1, 3, 32, 32]))
//     ->   Transpose, Reshape(MaxPool(Conv(x)))      Conv gives [1, 4, 32, 32, 16]
//
// A value in blocks is an ordinary value of one dimension more, a reorder between layouts ordinary
// nodes (graph/layouts/block_rewriter.h), so that fusion, memory and both schedulers need to know
// nothing of it. Sums keep their order: results stay what they were, bit for bit. The notes say of
// every region what was decided and why.
#pragma once

#include <optional>
#include <string_view>

#include "graph/layouts/layout_prices.h"
#include "graph/passes/pass.h"

namespace polyte::graph {

enum class Layout {
  Auto,     // blocks where the predicted gain of a region is more than its reorders cost
  Plain,    // as the model has it
  Blocked,  // every convolution and pool that can: for comparison
};
std::string_view to_string(Layout layout);                        // "auto"
std::optional<Layout> layout_from_string(std::string_view text);  // inverse of to_string

struct LayoutOptions {
  Layout layout = Layout::Auto;
  VectorUnit unit = {};  // no vectors: nothing is laid out anew
  // Convolutions in blocks may be transformed afterwards (transform_convolutions.h), and are the
  // cheaper for it.
  std::optional<WinogradUse> transforms = {};
};

PassResult choose_layouts(Graph& graph, const LayoutOptions& options);

}  // namespace polyte::graph
