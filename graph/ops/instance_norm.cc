// InstanceNormalization: each channel of each image by its own mean and variance.
#include "graph/ops/infer.h"
#include "graph/ops/moments.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_instance_norm(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 3, 3)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 3)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  for (std::size_t i = 1; i < 3; ++i) {
    if (auto no = expect_shape(graph, node, i, {x.shape[1]})) return *no;
  }
  return std::vector{x};
}

void expand_instance_norm(Expander& expander, const Node& node) {
  using ir::BinaryOp;
  const ValueId x = node.inputs[0];
  // Over all spatial dimensions, so that moments are [n, c].
  const Moments moments =
      add_moments(expander, x, 2, std::get<NormAttributes>(node.attributes).epsilon);
  expander.define(node.outputs[0], [&expander, &node, x, moments](const Subscripts& at) {
    const DType type = expander.type(x).dtype, wide = accumulator_of(type);
    const Subscripts outer = {at[0], at[1]};
    auto channel = [&](std::size_t i) {
      return ir::make_cast(wide, expander.read(node.inputs[i], {at[1]}));
    };
    const ir::Expr centred =
        ir::make_binary(BinaryOp::Sub, ir::make_cast(wide, expander.read(x, at)),
                        expander.load(moments.mean, outer));
    const ir::Expr scaled = ir::make_binary(
        BinaryOp::Mul, channel(1),
        ir::make_binary(BinaryOp::Mul, centred, expander.load(moments.inverse_deviation, outer)));
    return ir::make_cast(type, ir::make_binary(BinaryOp::Add, scaled, channel(2)));
  });
}

}  // namespace polyte::graph
