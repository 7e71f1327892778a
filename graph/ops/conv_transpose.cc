// ConvTranspose as a gather: an output element collects the inputs whose windows touch it,
//   acc[n, co, o] = sum[ci, k] x[n, ci, (o + p - k*d) / s] * w[ci, co, k]   where s divides and the input has it.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "support/checked.h"

namespace polyte::graph {

namespace {

// x at `at`, whose spatial subscripts are numerators to be divided by the strides; 0 where they do not divide.
ir::Expr strided_read(Expander& expander, ValueId x, const Subscripts& at, const Dims& strides) {
  const Dims& shape = expander.shape(x);
  const DType type = expander.type(x).dtype;
  std::vector<ir::Index> from = {at[0], at[1]};
  std::vector<ir::Constraint> guard;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const ir::Affine& numerator = at[d + 2];
    if (strides[d] > 1) guard.push_back(ir::equal(ir::mod(numerator, strides[d]), 0));
    guard.push_back(ir::at_least(numerator, 0));
    guard.push_back(ir::less_than(numerator, shape[d + 2] * strides[d]));
    from.emplace_back(strides[d] > 1 ? ir::floor_div(numerator, strides[d]) : numerator);
  }
  return expander.read_guarded(x, std::move(from), std::move(guard), ir::make_literal(type, 0));
}

}  // namespace

Types infer_conv_transpose(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 3)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  const Dims& w = input_type(graph, node, 1).shape;
  const auto& [window, group, output_padding] = std::get<ConvAttributes>(node.attributes);
  if (w.size() != x.shape.size())
    return Decline{"weight has shape " + shape_text(w) + ", input " + shape_text(x.shape)};
  if (auto no = expect_window(window, x.shape.size() - 2)) return *no;
  if (Dims(w.begin() + 2, w.end()) != window.kernel) {
    return Decline{"kernel_shape is " + shape_text(window.kernel) + ", the weight has shape " + shape_text(w)};
  }
  if (output_padding.size() != window.kernel.size())
    return Decline{"output_padding has other than " + std::to_string(window.kernel.size()) + " entries"};
  if (group < 1 || x.shape[1] % group != 0 || w[0] != x.shape[1]) {
    return Decline{"input has " + std::to_string(x.shape[1]) + " channels, weight has shape " + shape_text(w) +
                   ": they do not fit with group " + std::to_string(group)};
  }
  const std::int64_t channels = checked_mul(w[1], group);
  if (has_input(node, 2)) {
    if (auto no = expect_shape(graph, node, 2, {channels})) return *no;
  }
  Dims shape = {x.shape[0], channels};
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    std::int64_t extent = checked_mul(window.strides[d], x.shape[d + 2] - 1);
    extent =
        checked_add(checked_add(extent, output_padding[d]), checked_mul(window.kernel[d] - 1, window.dilations[d]) + 1);
    shape.push_back(checked_sub(checked_sub(extent, window.pads_begin[d]), window.pads_end[d]));
    if (shape.back() < 0) return Decline{"pads are larger than the result"};
  }
  return std::vector{TensorType{x.dtype, shape}};
}

void expand_conv_transpose(Expander& expander, const Node& node) {
  const ConvAttributes conv = std::get<ConvAttributes>(node.attributes);
  const Window& window = conv.window;
  const ValueId x = node.inputs[0], w = node.inputs[1], bias = has_input(node, 2) ? node.inputs[2] : kNoValue;
  const Dims& shape = expander.shape(node.outputs[0]);
  const std::int64_t group_inputs = expander.shape(x)[1] / conv.group, group_outputs = expander.shape(w)[1];
  const std::size_t spatial = shape.size() - 2;
  const DType wide = accumulator_of(expander.type(x).dtype);
  const Ranges ranges = output_ranges(shape, "co");
  Ranges reductions = kernel_ranges(window);
  reductions.insert(reductions.begin(), {"ci", 0, group_inputs});
  const Expander::Post post = bias_added(expander, bias, wide);
  expander.reduce(
      node.outputs[0], ranges, reductions, ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const bool one = conv.group == 1;
        const ir::Affine group = one ? ir::Affine(0) : ir::floor_div(at[1], group_outputs);
        const ir::Affine channel = group * group_inputs + ir::Affine::symbol("ci");
        Subscripts from_x = {at[0], channel}, from_w = {channel, one ? at[1] : ir::mod(at[1], group_outputs)};
        for (std::size_t d = 0; d < spatial; ++d) {
          from_w.push_back(kernel_subscript(window, d));
          from_x.push_back(at[d + 2] + ir::Affine(window.pads_begin[d]) - from_w.back() * window.dilations[d]);
        }
        return ir::make_binary(ir::BinaryOp::Mul,
                               ir::make_cast(wide, strided_read(expander, x, from_x, window.strides)),
                               ir::make_cast(wide, expander.read(w, from_w)));
      },
      post);
}

}  // namespace polyte::graph
