#include "graph/layouts/block_padding.h"

#include <algorithm>
#include <cmath>

namespace polyte::graph {

namespace {

// What was padding may become either bound: finite if both are, still zero if 0 lies between
// them.
Padding of_clip(const Graph& graph, const Node& node, Padding x) {
  double low = 0, high = 0;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& bound = graph.value(node.inputs[i]);
    if (!bound.is_constant() || padding_of_number(bound.tensor()) == Padding::Unknown)
      return Padding::Unknown;
    (i == 1 ? low : high) = element_as_real(bound.tensor(), 0);
  }
  return x == Padding::Zero && low <= 0 && high >= 0 ? Padding::Zero : Padding::Finite;
}

}  // namespace

Padding padding_of_number(const Tensor& number) {
  const double element = element_as_real(number, 0);
  if (element == 0) return Padding::Zero;
  return std::isfinite(element) ? Padding::Finite : Padding::Unknown;
}

Padding element_wise_padding(const Graph& graph, const Node& node, Zero zero,
                             const std::vector<Padding>& operands) {
  const auto count = [&](Padding padding) { return std::ranges::count(operands, padding); };
  if (count(Padding::Unknown) > 0) return Padding::Unknown;
  const bool all_zero = count(Padding::Finite) == 0;
  switch (node.op) {
    case OpKind::Add:
    case OpKind::Sub:
      if (all_zero) return Padding::Zero;
      // Two finite ones may double at every node: x + x, and again.
      return count(Padding::Finite) == 1 ? Padding::Finite : Padding::Unknown;
    case OpKind::Max:
    case OpKind::Min:
      return all_zero ? Padding::Zero : Padding::Finite;
    case OpKind::Mul:
      // Zero times what is finite. A product of two that are finite may grow without end.
      return count(Padding::Zero) > 0 ? Padding::Zero : Padding::Unknown;
    // A divisor per channel is padded with zeros itself, and 0 / 0 is a NaN: only a single number
    // will do.
    case OpKind::Div:  // by a number other than zero
      return operands.at(0) == Padding::Zero && operands.at(1) == Padding::Finite &&
                     graph.value(node.inputs.at(1)).is_constant()
                 ? Padding::Zero
                 : Padding::Unknown;
    case OpKind::PRelu:
      return operands.at(0) == Padding::Zero ? Padding::Zero : Padding::Unknown;
    case OpKind::Clip:
      return of_clip(graph, node, operands.at(0));
    default:
      if (zero == Zero::ToBounded) return Padding::Finite;
      return folded_padding(zero, all_zero ? Padding::Zero : Padding::Finite);
  }
}

Padding folded_padding(Zero zero, Padding operand) {
  if (zero == Zero::Stays) return operand;
  return zero == Zero::ToZero && operand == Padding::Zero ? Padding::Zero : Padding::Unknown;
}

}  // namespace polyte::graph
