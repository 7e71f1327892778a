#include "graph/passes/channel_affine.h"

#include <cmath>

namespace polyte::graph {

namespace {

// scale * (x - mean) / sqrt(variance + epsilon) + bias, whose channels are always dimension 1.
std::optional<ChannelAffine> of_batch_norm(const Graph& graph, const Node& node, std::size_t axis) {
  if (axis != 1 || node.outputs.size() > 1) return std::nullopt;
  for (std::size_t i = 1; i < 5; ++i) {
    if (!graph.value(node.inputs.at(i)).is_constant()) return std::nullopt;
  }
  const auto operand = [&](std::size_t i) {
    return elements_as_real(graph.value(node.inputs[i]).tensor());
  };
  const std::vector<double> scale = operand(1), bias = operand(2), mean = operand(3),
                            variance = operand(4);
  const double epsilon = std::get<NormAttributes>(node.attributes).epsilon;
  ChannelAffine affine;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    affine.scale.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    affine.shift.push_back(bias[c] - mean[c] * affine.scale[c]);
  }
  return affine;
}

std::optional<ChannelAffine> of_arithmetic(const Graph& graph, const Node& node, ValueId x,
                                           std::size_t axis) {
  const bool x_is_first = node.inputs.at(0) == x;
  const ValueId other = node.inputs.at(x_is_first ? 1 : 0);
  const TensorType& type = graph.value(x).type;
  // x + x is no constant, and a constant that makes x larger broadcasts the wrong way.
  if (other == x || !(graph.value(node.outputs[0]).type == type)) return std::nullopt;
  // k / x is not affine in x.
  const auto constant = per_channel(graph, other, type.shape, axis);
  if (!constant || (node.op == OpKind::Div && !x_is_first)) return std::nullopt;
  ChannelAffine affine;
  for (double element : *constant) {
    switch (node.op) {
      case OpKind::Mul:
        affine.scale.push_back(element);
        affine.shift.push_back(0);
        break;
      case OpKind::Div:
        affine.scale.push_back(1 / element);
        affine.shift.push_back(0);
        break;
      case OpKind::Add:
        affine.scale.push_back(1);
        affine.shift.push_back(element);
        break;
      default:  // Sub
        affine.scale.push_back(x_is_first ? 1 : -1);
        affine.shift.push_back(x_is_first ? -element : element);
    }
  }
  return affine;
}

}  // namespace

std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId constant,
                                               const Dims& shape, std::size_t axis) {
  const Value& value = graph.value(constant);
  if (!value.is_constant() || value.type.shape.size() > shape.size()) return std::nullopt;
  // Aligned at the last dimension: the constant's dimension d is dimension first + d of x.
  const std::size_t first = shape.size() - value.type.shape.size();
  for (std::size_t d = 0; d < value.type.shape.size(); ++d) {
    if (value.type.shape[d] != 1 && first + d != axis) return std::nullopt;
  }
  std::vector<double> elements = elements_as_real(value.tensor());
  const auto channels = static_cast<std::size_t>(shape.at(axis));
  if (elements.size() == 1) return std::vector<double>(channels, elements[0]);
  if (elements.size() != channels) return std::nullopt;
  return elements;
}

std::optional<ChannelAffine> channel_affine(const Graph& graph, const Node& node, ValueId x,
                                            std::size_t axis) {
  if (!is_float(graph.value(x).type.dtype)) return std::nullopt;
  switch (node.op) {
    case OpKind::BatchNormalization:
      return node.inputs.at(0) == x ? of_batch_norm(graph, node, axis) : std::nullopt;
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
      return of_arithmetic(graph, node, x, axis);
    default:
      return std::nullopt;
  }
}

}  // namespace polyte::graph
