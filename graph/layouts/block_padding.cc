#include "graph/layouts/block_padding.h"

#include <algorithm>
#include <cmath>

namespace polyte::graph {

namespace {

// f(0) = 0, and no finite x is made larger.
bool keeps_zero(OpKind op) {
  switch (op) {
    case OpKind::Identity:
    case OpKind::Abs:
    case OpKind::Neg:
    case OpKind::Sign:
    case OpKind::Floor:
    case OpKind::Ceil:
    case OpKind::Round:
    case OpKind::Sin:
    case OpKind::Atan:
    case OpKind::Tanh:
    case OpKind::Erf:
    case OpKind::Relu:
    case OpKind::HardSwish:
    case OpKind::Softsign:
    case OpKind::Mish:
      return true;
    default:
      return false;
  }
}

// f(0) = 0, but of other numbers nothing is known.
bool maps_zero_to_zero(OpKind op) {
  switch (op) {
    case OpKind::Sqrt:
    case OpKind::Tan:
    case OpKind::Asin:
    case OpKind::Sinh:
    case OpKind::Asinh:
    case OpKind::Atanh:
    case OpKind::LeakyRelu:
    case OpKind::Elu:
    case OpKind::Celu:
    case OpKind::Selu:
    case OpKind::ThresholdedRelu:
    case OpKind::Cast:
      return true;
    default:
      return keeps_zero(op);
  }
}

// Between 0 and 1, or at least between -1 and 1.
bool is_bounded(OpKind op) { return op == OpKind::Sigmoid || op == OpKind::HardSigmoid || op == OpKind::Cos; }

Padding of_clip(const Graph& graph, const Node& node, Padding x) {
  double low = 0, high = 0;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& bound = graph.value(node.inputs[i]);
    if (!bound.is_constant() || padding_of_number(bound.tensor()) == Padding::Unknown) return Padding::Unknown;
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

Padding element_wise_padding(const Graph& graph, const Node& node, const std::vector<Padding>& operands) {
  const auto count = [&](Padding padding) { return std::ranges::count(operands, padding); };
  if (count(Padding::Unknown) > 0) return Padding::Unknown;
  const bool all_zero = count(Padding::Finite) == 0;
  switch (node.op) {
    case OpKind::Add:
    case OpKind::Sub:
      if (all_zero) return Padding::Zero;
      return count(Padding::Finite) == 1 ? Padding::Finite : Padding::Unknown;
    case OpKind::Max:
    case OpKind::Min:
      return all_zero ? Padding::Zero : Padding::Finite;
    case OpKind::Mul:
      return count(Padding::Zero) > 0 ? Padding::Zero : Padding::Unknown;
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
      if (is_bounded(node.op)) return Padding::Finite;
      if (all_zero && maps_zero_to_zero(node.op)) return Padding::Zero;
      return !all_zero && keeps_zero(node.op) ? Padding::Finite : Padding::Unknown;
  }
}

Padding folded_padding(OpKind op, Padding operand) {
  switch (op) {
    case OpKind::MaxPool:
    case OpKind::AveragePool:
    case OpKind::GlobalAveragePool:
    case OpKind::GlobalMaxPool:
    case OpKind::ReduceMean:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
      return operand;
    case OpKind::ReduceSum:
    case OpKind::ReduceProd:
    case OpKind::ReduceL1:
    case OpKind::ReduceL2:
    case OpKind::ReduceSumSquare:
      return operand == Padding::Zero ? Padding::Zero : Padding::Unknown;
    default:
      return Padding::Unknown;
  }
}

}  // namespace polyte::graph
