// Conv: any number of spatial dimensions, groups, dilations, asymmetric pads.
//   acc[n, co, h, w] = sum[ci, kh, kw] x[n, ci, h*s + kh*d - p, ...] else 0  *  w[co, ci, kh, kw]
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

namespace polyte::graph {

Types infer_conv(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 3)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  const Dims& w = input_type(graph, node, 1).shape;
  const auto& [window, group, unused] = std::get<ConvAttributes>(node.attributes);
  if (w.size() != x.shape.size()) {
    return Decline{"weight has shape " + shape_text(w) + ", expected rank " + std::to_string(x.shape.size()) +
                   " like the input"};
  }
  if (auto no = expect_window(window, x.shape.size() - 2)) return *no;
  if (Dims(w.begin() + 2, w.end()) != window.kernel) {
    return Decline{"kernel_shape is " + shape_text(window.kernel) + ", the weight has shape " + shape_text(w)};
  }
  if (group < 1 || x.shape[1] % group != 0 || w[0] % group != 0 || x.shape[1] / group != w[1]) {
    return Decline{"input has " + std::to_string(x.shape[1]) + " channels, weight has shape " + shape_text(w) +
                   ": they do not fit with group " + std::to_string(group)};
  }
  if (has_input(node, 2)) {
    if (auto no = expect_shape(graph, node, 2, {w[0]})) return *no;
  }
  Dims shape = {x.shape[0], w[0]};
  for (std::size_t d = 0; d + 2 < x.shape.size(); ++d) {
    shape.push_back(window_extent(x.shape[d + 2], window, d, false));
    if (shape.back() == 0 && x.shape[d + 2] != 0) {
      return Decline{"kernel " + shape_text(window.kernel) + " is larger than the padded input " + shape_text(x.shape)};
    }
  }
  return std::vector{TensorType{x.dtype, shape}};
}

void expand_conv(Expander& expander, const Node& node) {
  const ConvAttributes conv = std::get<ConvAttributes>(node.attributes);
  const ValueId x = node.inputs[0], w = node.inputs[1], bias = has_input(node, 2) ? node.inputs[2] : kNoValue;
  const Dims& shape = expander.shape(node.outputs[0]);
  const std::size_t spatial = shape.size() - 2;
  const std::int64_t group_inputs = expander.shape(w)[1], group_outputs = conv.group > 0 ? shape[1] / conv.group : 1;
  const DType wide = accumulator_of(expander.type(x).dtype);
  const Ranges ranges = output_ranges(shape, "co");
  Ranges reductions = kernel_ranges(conv.window);
  const bool has_ci = group_inputs != 1 || reductions.empty();
  if (has_ci) reductions.insert(reductions.begin(), {"ci", 0, group_inputs});
  const ir::Affine ci = has_ci ? ir::Affine::symbol("ci") : ir::Affine(0);
  const Expander::Post post = bias_added(expander, bias, wide);
  expander.reduce(
      node.outputs[0], ranges, reductions, ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const ir::Affine first_input =
            conv.group == 1 ? ir::Affine(0) : ir::floor_div(at[1], group_outputs) * group_inputs;
        Subscripts from_x = {at[0], first_input + ci};
        Subscripts from_w = {at[1], ci};
        for (std::size_t d = 0; d < spatial; ++d) {
          from_x.push_back(window_subscript(conv.window, d, at[d + 2]));
          from_w.push_back(kernel_subscript(conv.window, d));
        }
        const ir::Expr zero = ir::make_literal(expander.type(x).dtype, 0);
        return ir::make_binary(ir::BinaryOp::Mul, ir::make_cast(wide, expander.read_padded(x, from_x, zero)),
                               ir::make_cast(wide, expander.read(w, from_w)));
      },
      post);
}

}  // namespace polyte::graph
