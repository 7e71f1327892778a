// Where and Clip.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_where(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 3, 3)) return *no;
  const TensorType& condition = input_type(graph, node, 0);
  const TensorType& a = input_type(graph, node, 1);
  const TensorType& b = input_type(graph, node, 2);
  if (condition.dtype != DType::Bool) {
    return Decline{"input 0 is " + std::string(polyte::to_string(condition.dtype)) +
                   ", expected bool"};
  }
  if (a.dtype != b.dtype)
    return Decline{"inputs 1 and 2 are " + to_string(a) + " and " + to_string(b) +
                   ", expected equal types"};
  // Of three shapes in any order: broadcasting is associative.
  auto shape = broadcast(a.shape, b.shape);
  if (shape) shape = broadcast(condition.shape, *shape);
  if (!shape) {
    return Decline{"shapes " + shape_text(condition.shape) + ", " + shape_text(a.shape) + " and " +
                   shape_text(b.shape) + " do not broadcast"};
  }
  return std::vector{TensorType{a.dtype, *shape}};
}

void expand_where(Expander& expander, const Node& node) {
  expander.define(node.outputs[0], [&expander, &node](const Subscripts& at) {
    return ir::make_select(expander.read_broadcast(node.inputs[0], at),
                           expander.read_broadcast(node.inputs[1], at),
                           expander.read_broadcast(node.inputs[2], at));
  });
}

// min(max(x, low), high): where low > high the result is high.
Types infer_clip(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 3)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (has_input(node, i) && element_count(input_type(graph, node, i).shape) != 1) {
      return Decline{"input " + std::to_string(i) + " has shape " +
                     shape_text(input_type(graph, node, i).shape) + ", expected a scalar"};
    }
  }
  return std::vector{input_type(graph, node, 0)};
}

void expand_clip(Expander& expander, const Node& node) {
  expander.define(node.outputs[0], [&expander, &node](const Subscripts& at) {
    ir::Expr x = expander.read(node.inputs[0], at);
    if (has_input(node, 1))
      x = ir::make_binary(ir::BinaryOp::Max, x, expander.read_scalar(node.inputs[1]));
    if (has_input(node, 2))
      x = ir::make_binary(ir::BinaryOp::Min, x, expander.read_scalar(node.inputs[2]));
    return x;
  });
}

}  // namespace polyte::graph
