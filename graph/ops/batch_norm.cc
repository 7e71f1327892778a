// BatchNormalization for inference: scale * (x - mean) / sqrt(variance + epsilon) + bias, per
// channel. Few are left to be expanded: fold_scales and simplify_batch_norms (graph/passes) rewrite
// those whose parameters are constants, unless results have to stay what they are bit for bit.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_batch_norm(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 5, 5)) return *no;
  for (std::size_t i = 0; i < 5; ++i) {
    if (auto no = expect_float(graph, node, i)) return *no;
  }
  if (auto no = expect_rank_at_least(graph, node, 0, 1)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  const std::int64_t channels = x.shape.size() > 1 ? x.shape[1] : 1;
  for (std::size_t i = 1; i < 5; ++i) {
    if (auto no = expect_shape(graph, node, i, {channels})) return *no;
  }
  return std::vector{x};
}

void expand_batch_norm(Expander& expander, const Node& node) {
  const double epsilon = std::get<NormAttributes>(node.attributes).epsilon;
  expander.define(node.outputs[0], [&expander, &node, epsilon](const Subscripts& at) {
    using ir::BinaryOp;
    const DType type = expander.type(node.outputs[0]).dtype, wide = accumulator_of(type);
    auto operand = [&](std::size_t i) {
      const Subscripts from = i == 0 ? at : Subscripts{at.size() > 1 ? at[1] : ir::Affine(0)};
      return ir::make_cast(wide, expander.read(node.inputs[i], from));
    };
    const ir::Expr variance =
        ir::make_binary(BinaryOp::Add, operand(4), ir::make_literal(wide, epsilon));
    const ir::Expr centred = ir::make_binary(BinaryOp::Sub, operand(0), operand(3));
    const ir::Expr scaled =
        ir::make_binary(BinaryOp::Div, ir::make_binary(BinaryOp::Mul, operand(1), centred),
                        ir::make_unary(ir::UnaryOp::Sqrt, variance));
    return ir::make_cast(type, ir::make_binary(BinaryOp::Add, scaled, operand(2)));
  });
}

}  // namespace polyte::graph
