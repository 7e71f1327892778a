// LRN: x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "ir/power.h"

namespace polyte::graph {

Types infer_lrn(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 2)) return *no;
  if (std::get<LrnAttributes>(node.attributes).size < 1) return Decline{"size is below 1"};
  return std::vector{input_type(graph, node, 0)};
}

void expand_lrn(Expander& expander, const Node& node) {
  using ir::BinaryOp;
  const LrnAttributes lrn = std::get<LrnAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const DType wide = accumulator_of(expander.type(x).dtype);
  // ONNX: channels from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2), where there are any.
  // The sum is divided by the size even so.
  const std::int64_t before = (lrn.size - 1) / 2;
  const Ranges ranges = ranges_over(expander.shape(x));
  const Taps taps = clipped_taps("r", lrn.size, {.pad = before}, expander.shape(x)[1], ranges[1]);
  expander.reduce(
      node.outputs[0], ranges, {taps.range}, ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        Subscripts from = at;
        from[1] = at[1] + ir::Affine::symbol("r") - ir::Affine(before);
        const ir::Expr zero = ir::make_literal(expander.type(x).dtype, 0);
        const ir::Expr neighbour = ir::make_cast(wide, expander.read_padded(x, from, zero));
        return ir::make_binary(BinaryOp::Mul, neighbour, neighbour);
      },
      [=, &expander](const ir::Expr& squares, const Subscripts& at) {
        auto number = [&](double value) { return ir::make_literal(squares->type, value); };
        const ir::Expr mean = ir::make_binary(
            BinaryOp::Mul, number(lrn.alpha / static_cast<double>(lrn.size)), squares);
        const ir::Expr base = ir::make_binary(BinaryOp::Add, number(lrn.bias), mean);
        return ir::make_binary(BinaryOp::Div, ir::make_cast(squares->type, expander.read(x, at)),
                               ir::make_power(base, number(lrn.beta)));
      },
      taps.where);
}

}  // namespace polyte::graph
