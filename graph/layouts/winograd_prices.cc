#include "graph/layouts/winograd_prices.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::graph {

namespace {

// Measured on cores of Zen 4 and Zen 5 (docs/convolutions.md).
constexpr double kProducts = 0.93;      // share of the peak that products reach, either way
constexpr double kMovedVector = 8;      // cycles per vector of transformed inputs or outputs
constexpr double kBytesPerCycle = 3.3;  // of weights, which come from memory
constexpr double kUnhidden = 0.2;       // of the shorter of products and weights
constexpr double kKernels = 6000;       // two loops more that begin and end
// Of transformed inputs and outputs, which are four times what they were.
constexpr double kMostBytes = std::int64_t{128} << 20;

// Products while their weights come.
double with_weights(double products, double bytes) {
  const double weights = bytes / kBytesPerCycle;
  return std::max(products, weights) + kUnhidden * std::min(products, weights);
}

bool all_ones(const Dims& dims) {
  return std::ranges::all_of(dims, [](std::int64_t d) { return d == 1; });
}

// Windows of 3, and of 1 in other dimensions, at stride 1.
bool has_form(const Window& window) {
  return all_ones(window.strides) && all_ones(window.dilations) && !all_ones(window.kernel) &&
         std::ranges::all_of(window.kernel, [](std::int64_t d) { return d == 1 || d == 3; });
}

std::optional<Decline> obstacle(const Graph& graph, const Node& node) {
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  const DType type = graph.value(node.inputs[0]).type.dtype;
  if (!has_form(conv.window)) return Decline{"its window is not of 3 at stride 1"};
  if (conv.group != 1) return Decline{"it has groups"};
  if (type != DType::F32 && type != DType::F64)
    return Decline{"its elements are neither f32 nor f64"};
  if (!graph.value(node.inputs[1]).is_constant()) return Decline{"its weight is not a constant"};
  return std::nullopt;
}

}  // namespace

// Of a window 3x3, 16 products of matrices for 9 of four times the rows; inputs and outputs of each
// tile are moved once more; and there are 16 weights for 9, which are read once per run.
Result<WinogradPrices> winograd_prices(const Graph& graph, const Node& node, std::int64_t block,
                                       const WinogradUse& use) {
  if (const auto no = obstacle(graph, node)) return *no;
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  const Dims &x = graph.value(node.inputs[0]).type.shape,
             &y = graph.value(node.outputs[0]).type.shape;
  const auto padded_channels = [block](const Dims& shape, bool in_blocks) {
    return static_cast<double>((in_blocks ? shape[1] : ceil_div(shape[1], block)) * block);
  };
  const double inputs = padded_channels(x, conv.input_block != 0),
               outputs = padded_channels(y, conv.output_block != 0);
  // positions: outputs of one channel; tiles: windows of two outputs per transformed dimension;
  // taps and points: products per output, and per tile.
  double positions = use.any_batch ? 1 : static_cast<double>(y[0]), tiles = positions, taps = 1,
         points = 1;
  for (std::size_t d = 0; d < conv.window.kernel.size(); ++d) {
    const bool transformed = conv.window.kernel[d] == 3;
    positions *= static_cast<double>(y[d + 2]);
    tiles *= static_cast<double>(transformed ? ceil_div(y[d + 2], 2) : y[d + 2]);
    taps *= transformed ? 3 : 1;
    points *= transformed ? 4 : 1;
  }
  const auto element = static_cast<double>(size_in_bytes(graph.value(node.inputs[0]).type.dtype));
  if (points * tiles * (inputs + outputs) * element > kMostBytes)
    return Decline{"its transformed inputs and outputs would take more than 128 MiB"};
  const auto lanes = static_cast<double>(use.unit.lanes);
  const double per_cycle = lanes * use.unit.fma_per_cycle * kProducts,
               moves = points * tiles * (inputs + outputs) / lanes * kMovedVector,
               bytes = inputs * outputs * element;
  // An image of 3 channels is read as it is, without padding (OperandForm::Either).
  const bool is_small = conv.input_block == 0 && x[1] < block;
  const double read = is_small ? static_cast<double>(x[1]) : inputs;
  return WinogradPrices{
      .direct = with_weights(positions * taps * read * outputs / per_cycle, taps * bytes),
      .transformed = with_weights(points * tiles * inputs * outputs / per_cycle, points * bytes) +
                     moves + kKernels};
}

}  // namespace polyte::graph
