// Concat: one statement per operand, each writing its own box of the result.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/checked.h"

namespace polyte::graph {

Types infer_concat(const Graph& graph, const Node& node) {
  if (auto no =
          expect_inputs(node, node.inputs.empty() ? 1 : node.inputs.size(), node.inputs.size()))
    return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  const std::int64_t axis = std::get<AxisAttributes>(node.attributes).axis;
  TensorType result = input_type(graph, node, 0);
  if (auto no = expect_axis(axis, result.shape.size())) return *no;
  const auto a = static_cast<std::size_t>(axis);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    Dims shape = input_type(graph, node, i).shape;
    const std::int64_t extent = a < shape.size() ? shape[a] : 0;
    Dims expected = result.shape;
    if (a < shape.size()) expected[a] = extent;
    if (shape != expected) {
      return Decline{"input " + std::to_string(i) + " has shape " + shape_text(shape) +
                     ", which does not fit " + shape_text(result.shape) + " along axis " +
                     std::to_string(axis)};
    }
    result.shape[a] = checked_add(result.shape[a], extent);
  }
  return std::vector{result};
}

// Of [2, 3] and [2, 5] along axis 1:
//
//   y[i, j] = a[i, j]      for i in 0..2, j in 0..3
//   y[i, j + 3] = b[i, j]  for i in 0..2, j in 0..5
void expand_concat(Expander& expander, const Node& node) {
  const auto axis = static_cast<std::size_t>(std::get<AxisAttributes>(node.attributes).axis);
  const std::string result = expander.store(node.outputs[0]);
  std::int64_t offset = 0;
  for (ValueId operand : node.inputs) {
    const Dims& shape = expander.shape(operand);
    if (element_count(shape) > 0) {
      const Ranges ranges = ranges_over(shape);
      Subscripts to = subscripts_of(ranges);
      to[axis] = to[axis] + ir::Affine(offset);
      expander.assign(result, to, ranges,
                      [&](const Subscripts& at) { return expander.read(operand, at); });
    }
    offset += shape[axis];
  }
}

}  // namespace polyte::graph
