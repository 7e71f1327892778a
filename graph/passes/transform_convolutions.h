// Convolutions of window 3 and stride 1 by Winograd's method (graph/ops/winograd_conv.cc), where
// fewer multiplications are worth the sums before and after them:
//
//   Conv(x, w, b), kernel 3x3 in blocks     ->   WinogradConv(x, G w G', b)
//
// Only of channels in blocks, with constant weights of f32 or f64. The weights are transformed in
// double precision and rounded once; results change by roundings (docs/convolutions.md has their
// error, which is no larger). Sums of small integers stay what they are, bit for bit.
#pragma once

#include <optional>
#include <string_view>

#include "graph/layouts/layout_prices.h"
#include "graph/passes/pass.h"

namespace polyte::graph {

enum class Convolutions {
  Auto,      // transformed where the predicted gain is worth it
  Direct,    // as the model has them
  Winograd,  // every one that can: for comparison
};
std::string_view to_string(Convolutions how);                                 // "auto"
std::optional<Convolutions> convolutions_from_string(std::string_view text);  // its inverse

struct ConvolutionOptions {
  Convolutions how = Convolutions::Auto;
  WinogradUse use = {};
};

PassResult transform_convolutions(Graph& graph, const ConvolutionOptions& options);

}  // namespace polyte::graph
