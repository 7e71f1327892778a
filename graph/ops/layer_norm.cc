// LayerNormalization over dimensions [axis, rank); mean and inverse deviation are further outputs.
#include "graph/ops/infer.h"
#include "graph/ops/moments.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_layer_norm(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  const std::int64_t axis = std::get<NormAttributes>(node.attributes).axis;
  if (auto no = expect_axis(axis, x.shape.size())) return *no;
  const Dims inner(x.shape.begin() + axis, x.shape.end());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) continue;
    const auto together = broadcast(input_type(graph, node, i).shape, inner);
    if (!together || *together != inner) return *expect_shape(graph, node, i, inner);
  }
  // ONNX keeps the normalised dimensions in the moments, with extent 1; inside the Program they are
  // over the leading ones alone.
  TensorType moment{accumulator_of(x.dtype), x.shape};
  std::fill(moment.shape.begin() + axis, moment.shape.end(), 1);
  return std::vector{x, moment, moment};
}

void expand_layer_norm(Expander& expander, const Node& node) {
  using ir::BinaryOp;
  const ValueId x = node.inputs[0];
  const NormAttributes norm = std::get<NormAttributes>(node.attributes);
  const auto axis = static_cast<std::size_t>(norm.axis);
  const Moments moments = add_moments(expander, x, axis, norm.epsilon);
  auto leading = [axis](const Subscripts& at) {
    return Subscripts(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axis));
  };
  expander.define(
      node.outputs[0], [&expander, &node, x, axis, moments, leading](const Subscripts& at) {
        const DType type = expander.type(x).dtype, wide = accumulator_of(type);
        const Subscripts outer = leading(at),
                         inner(at.begin() + static_cast<std::ptrdiff_t>(axis), at.end());
        auto operand = [&](std::size_t i) {
          return ir::make_cast(wide, expander.read_broadcast(node.inputs[i], inner));
        };
        const ir::Expr centred =
            ir::make_binary(BinaryOp::Sub, ir::make_cast(wide, expander.read(x, at)),
                            expander.load(moments.mean, outer));
        const ir::Expr normal = ir::make_binary(BinaryOp::Mul, centred,
                                                expander.load(moments.inverse_deviation, outer));
        const ir::Expr scaled = ir::make_binary(BinaryOp::Mul, normal, operand(1));
        return ir::make_cast(
            type, has_input(node, 2) ? ir::make_binary(BinaryOp::Add, scaled, operand(2)) : scaled);
      });
  const std::string buffers[] = {moments.mean, moments.inverse_deviation};
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    expander.define(node.outputs[i],
                    [&expander, leading, buffer = buffers[i - 1]](const Subscripts& at) {
                      return expander.load(buffer, leading(at));
                    });
  }
}

}  // namespace polyte::graph
