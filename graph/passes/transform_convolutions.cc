#include "graph/passes/transform_convolutions.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace polyte::graph {

namespace {

constexpr std::array<std::string_view, 3> kNames = {"auto", "direct", "winograd"};

constexpr std::size_t kTaps = 3, kPoints = 4;  // of a window, and of its transform
// u = G g: the order and signs of graph/ops/winograd_conv.cc.
constexpr double kTransform[kPoints][kTaps] = {
    {1, 0, 0}, {-0.5, 0.5, -0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};

bool is_transformed(const Window& window, std::size_t d) { return window.kernel[d] == 3; }

// [outputs / block, inputs, 3.., block] to [4.., outputs / block, inputs, block].
Tensor transformed_weight(const Tensor& weight, const Window& window) {
  const Dims& shape = weight.type.shape;
  const auto blocks = static_cast<std::size_t>(shape[0]),
             inputs = static_cast<std::size_t>(shape[1]),
             block = static_cast<std::size_t>(shape.back());
  std::vector<double> elements = elements_as_real(weight);
  // One dimension after the other, each from [outer, 3, inner] to [outer, 4, inner].
  std::size_t points = 1;
  Dims front;
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    if (!is_transformed(window, d)) continue;
    // Dimensions that have been transformed are part of `outer`: [.., 4] stands before [3, ..].
    const std::size_t outer = blocks * inputs * points, inner = elements.size() / (outer * kTaps);
    std::vector<double> next(outer * kPoints * inner);
    for (std::size_t o = 0; o < outer; ++o)
      for (std::size_t p = 0; p < kPoints; ++p)
        for (std::size_t t = 0; t < kTaps; ++t)
          for (std::size_t i = 0; i < inner; ++i)
            next[(o * kPoints + p) * inner + i] +=
                kTransform[p][t] * elements[(o * kTaps + t) * inner + i];
    elements = std::move(next);
    points *= kPoints;
    front.push_back(kPoints);
  }
  // [outer, points, block] to [points, outer, block]: the kernel runs over points outermost.
  std::vector<double> turned(elements.size());
  for (std::size_t o = 0; o < blocks * inputs; ++o)
    for (std::size_t p = 0; p < points; ++p)
      std::copy_n(elements.begin() + static_cast<std::ptrdiff_t>((o * points + p) * block), block,
                  turned.begin() + static_cast<std::ptrdiff_t>((p * blocks * inputs + o) * block));
  front.insert(front.end(), {shape[0], shape[1], shape.back()});
  return make_tensor({weight.type.dtype, front}, turned);
}

std::string cycles_text(double cycles) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f k", cycles / 1000);
  return text;
}

// Decides for one convolution, and says so where there was a choice.
bool is_chosen(const Graph& graph, const Node& node, const ConvolutionOptions& options,
               PassResult& result) {
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  const bool forced = options.how == Convolutions::Winograd;
  const bool in_blocks = conv.input_block != 0 && conv.output_block != 0;
  Result<WinogradPrices> prices = Decline{"its channels are not in blocks"};
  if (in_blocks) prices = winograd_prices(graph, node, conv.output_block, options.use);
  if (!prices) {
    if (forced) result.notes.push_back("'" + node.name + "' direct: " + prices.error().reason);
    return false;
  }
  const bool chosen = forced || prices->pays();
  result.notes.push_back("'" + node.name + (chosen ? "' by Winograd's method" : "' direct") +
                         (forced ? ", as was asked for: " : ": ") + cycles_text(prices->direct) +
                         " cycles as it is, " + cycles_text(prices->transformed) + " transformed");
  return chosen;
}

}  // namespace

std::string_view to_string(Convolutions how) { return kNames[static_cast<std::size_t>(how)]; }

std::optional<Convolutions> convolutions_from_string(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Convolutions>(found - kNames.begin());
}

PassResult transform_convolutions(Graph& graph, const ConvolutionOptions& options) {
  PassResult result;
  if (options.how == Convolutions::Direct || options.use.unit.lanes < 2) return result;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    // A copy, as is the weight below: add_constant may move the graph's values.
    const Node node = graph.node(id);
    if (node.op != OpKind::Conv || !is_chosen(graph, node, options, result)) continue;
    const Value weight = graph.value(node.inputs[1]);
    const ValueId transformed = graph.add_constant(
        weight.name + ".winograd",
        transformed_weight(weight.tensor(), std::get<ConvAttributes>(node.attributes).window));
    Node& now = graph.nodes[static_cast<std::size_t>(id)];
    now.op = OpKind::WinogradConv;
    now.inputs[1] = transformed;
    ++result.rewrites;
  }
  if (result.rewrites > 0) graph.normalise();  // drops the weights that nobody reads any more
  return result;
}

}  // namespace polyte::graph
