// ArgMax and ArgMin: a tuple reduction of value and position.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_arg(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  Dims shape = input_type(graph, node, 0).shape;
  const auto& attributes = std::get<ArgAttributes>(node.attributes);
  if (auto no = expect_axis(attributes.axis, shape.size())) return *no;
  const auto axis = static_cast<std::size_t>(attributes.axis);
  if (shape[axis] == 0) return Decline{"axis " + std::to_string(axis) + " has extent 0"};
  if (attributes.keep_dims)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + attributes.axis);
  return std::vector{TensorType{DType::I64, shape}};
}

// Ties keep the lowest position; to keep the last one, positions count from the end.
void expand_arg(Expander& expander, const Node& node) {
  const ArgAttributes attributes = std::get<ArgAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const Dims& result_shape = expander.shape(node.outputs[0]);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const ir::Affine r = ir::Affine::symbol("r");
  const ir::Affine place = attributes.select_last ? ir::Affine(shape[axis] - 1) - r : r;
  auto value = [&](const Subscripts& at) {
    Subscripts from = at;
    // The axis is there again, as an input of the full rank is read.
    if (!attributes.keep_dims) from.insert(from.begin() + attributes.axis, 0);
    from[axis] = place;
    return expander.read(x, from);
  };
  const std::string best = expander.temporary("best", expander.type(x).dtype, result_shape);
  const std::string position = expander.temporary("position", DType::I64, result_shape);
  expander.accumulate_arg(best, position, ranges_over(result_shape), {{"r", 0, shape[axis]}},
                          node.op == OpKind::ArgMax ? ir::Combiner::ArgMax : ir::Combiner::ArgMin,
                          value, [&](const Subscripts&) { return ir::make_index(r); });
  const bool from_end = attributes.select_last;
  expander.define(node.outputs[0], [&expander, position, from_end,
                                    extent = shape[axis]](const Subscripts& out) {
    const ir::Expr found = expander.load(position, out);
    return from_end
               ? ir::make_binary(ir::BinaryOp::Sub, ir::make_int(DType::I64, extent - 1), found)
               : found;
  });
}

}  // namespace polyte::graph
