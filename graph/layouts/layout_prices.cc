#include "graph/layouts/layout_prices.h"

#include <algorithm>

#include "graph/op.h"

namespace polyte::graph {

namespace {

// Shares of the peak that kernels reach, and cycles per element; docs/layouts.md has
// the measurements.

// A dense convolution, its lanes filled.
constexpr double kDense = 0.90, kBlockedDense = 0.93;
// A depthwise convolution or a pool.
constexpr double kWindow = 0.36, kStridedWindow = 0.09;
constexpr double kBlockedWindow = 0.58;       // the same, strided or not
constexpr double kTurnedStore = 2;            // an element of a vector that is stored with a stride
constexpr double kMove = 1, kMovePadded = 2;  // an element that is reordered
constexpr double kKernel = 3000;              // a kernel more
constexpr double kTouch = 0.2;                // an element that is written and read once more

// The part of the lanes that do something, where `used` elements are cut into whole vectors: 20
// elements in vectors of 16 lanes use 20 / 32 of them.
double share(std::int64_t used, std::int64_t lanes) {
  return static_cast<double>(used) / static_cast<double>(blocks_of(used, lanes) * lanes);
}

bool is_pointwise(const Window& window) {
  const auto all = [](const Dims& dims, std::int64_t value) {
    return std::ranges::all_of(dims, [value](std::int64_t dim) { return dim == value; });
  };
  return all(window.kernel, 1) && all(window.strides, 1) && all(window.pads_begin, 0) &&
         all(window.pads_end, 0);
}

bool is_pool(OpKind op) { return op == OpKind::MaxPool || op == OpKind::AveragePool; }

const Window& window_of(const Node& node) {
  if (is_pool(node.op)) return std::get<PoolAttributes>(node.attributes).window;
  return std::get<ConvAttributes>(node.attributes).window;
}

}  // namespace

// Channels of the value by channels with its padding.
double LayoutPrices::filling(ValueId image) const { return share(shape(image)[1], forms_.block()); }

// Cycles at the peak: every lane of every multiply-add unit busy.
double LayoutPrices::vectors(double operations) const {
  return operations / static_cast<double>(unit_.lanes * unit_.fma_per_cycle);
}

double LayoutPrices::window_operations(const Node& node) const {
  const auto outputs = static_cast<double>(element_count(shape(node.outputs[0])));
  const auto window = static_cast<double>(element_count(window_of(node).kernel));
  return outputs * window *
         (node.op == OpKind::Conv ? static_cast<double>(shape(node.inputs[1])[1]) : 1.0);
}

double LayoutPrices::plain_conv(const Node& node) const {
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  const Dims& result = shape(node.outputs[0]);
  const double cycles = vectors(window_operations(node));
  const bool strides = conv.window.strides.back() > 1;
  if (shape(node.inputs[1])[1] == 1 && conv.group > 1)
    return cycles / (strides ? kStridedWindow : kWindow);
  const std::int64_t outputs = result[1] / conv.group;
  const double turned = cycles / (kDense * share(outputs, unit_.lanes)) +
                        kTurnedStore * static_cast<double>(element_count(result));
  // A stride takes elements of a vector from places apart, so lanes along the last dimension do not
  // pay. A pointwise convolution without stride has no window: its spatial dimensions are one long
  // line.
  if (strides) return turned;
  const std::int64_t line = is_pointwise(conv.window) ? spatial_size(result) : result.back();
  return std::min(turned, cycles / (kDense * share(line, unit_.lanes)));
}

double LayoutPrices::blocked_conv(NodeId id) const {
  const Node& node = graph_.node(id);
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  // A dense convolution asks for blocks only where it is to be transformed.
  if (conv.group == 1 && forms_.of(id)->operands[0] == OperandForm::Blocked) {
    const WinogradUse& use = *forms_.transforms();
    const double images = use.any_batch ? static_cast<double>(shape(node.outputs[0])[0]) : 1;
    return images * winograd_prices(graph_, node, forms_.block(), use)->transformed;
  }
  const double cycles = vectors(window_operations(node)) / filling(node.outputs[0]);
  if (shape(node.inputs[1])[1] == 1 && conv.group > 1) return cycles / kBlockedWindow;
  // An image of 3 channels is read as it is (OperandForm::Either); its channels are not padded.
  const bool is_small = shape(node.inputs[0])[1] < forms_.block();
  return cycles / (kBlockedDense * (is_small ? 1 : filling(node.inputs[0])));
}

std::int64_t LayoutPrices::plain(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op == OpKind::Conv) return static_cast<std::int64_t>(plain_conv(node));
  if (!is_pool(node.op)) return 0;
  const bool strides = window_of(node).strides.back() > 1;
  return static_cast<std::int64_t>(vectors(window_operations(node)) /
                                   (strides ? kStridedWindow : kWindow));
}

std::int64_t LayoutPrices::blocked(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op == OpKind::Conv) return static_cast<std::int64_t>(blocked_conv(id));
  const ValueId image = forms_.of(id)->plain_result ? node.inputs[0] : node.outputs[0];
  if (is_pool(node.op))
    return static_cast<std::int64_t>(vectors(window_operations(node)) /
                                     (kBlockedWindow * filling(image)));
  // The padding is touched as well: 1 / filling - 1 of the elements.
  const auto elements = static_cast<double>(element_count(shape(image)));
  return static_cast<std::int64_t>(kTouch * elements * (1 / filling(image) - 1));
}

// Element-wise operators behind a convolution or a pool are part of its kernel, unless a
// reorder stands between.
bool LayoutPrices::parts_a_kernel(ValueId id) const {
  const NodeId maker = graph_.value(id).producer;
  if (maker == kNoNode || info(graph_.node(maker).op).pattern != OpPattern::OutEWiseFusable)
    return false;
  const std::vector<NodeId>& readers = readers_[static_cast<std::size_t>(id)];
  return !readers.empty() && std::ranges::all_of(readers, [&](NodeId reader) {
    return info(graph_.node(reader).op).pattern <= OpPattern::Broadcast;
  });
}

std::int64_t LayoutPrices::reorder(ValueId id) const {
  const Dims& dims = shape(id);
  const bool is_padded = dims[1] % forms_.block() != 0;
  if (spatial_size(dims) == 1 && !is_padded)
    return parts_a_kernel(id) ? static_cast<std::int64_t>(kKernel) : 0;
  const double moves = (is_padded ? kMovePadded : kMove) + (parts_a_kernel(id) ? kTouch : 0);
  return static_cast<std::int64_t>(kKernel + moves * static_cast<double>(element_count(dims)));
}

}  // namespace polyte::graph
