// GlobalAveragePool and GlobalMaxPool: one number per channel.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

namespace polyte::graph {

Types infer_global_pool(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 2)) return *no;
  TensorType type = input_type(graph, node, 0);
  for (std::size_t d = 2; d < type.shape.size(); ++d) type.shape[d] = 1;
  return std::vector{type};
}

void expand_global_pool(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const Dims shape = expander.shape(x);
  const std::size_t spatial = shape.size() - 2;
  const bool is_average = node.op == OpKind::GlobalAveragePool;
  // A maximum is one of its operands, so that nothing is gained by a wider type.
  const DType wide = is_average ? accumulator_of(expander.type(x).dtype) : expander.type(x).dtype;
  Ranges reductions;
  double count = 1;
  for (std::size_t d = 0; d < spatial; ++d) {
    reductions.push_back({spatial_name(d, spatial), 0, shape[d + 2]});
    count *= static_cast<double>(shape[d + 2]);
  }
  // [N, C]: each channel is one element, its own mean and maximum.
  if (spatial == 0) {
    expander.define(node.outputs[0],
                    [&expander, x](const Subscripts& at) { return expander.read(x, at); });
    return;
  }
  Ranges ranges = ranges_over(expander.shape(node.outputs[0]));
  // Names that the operator's own loops have in all pools and convolutions, so that fused loops
  // match.
  ranges[0].name = "n";
  ranges[1].name = "c";
  for (std::size_t d = 0; d < spatial; ++d) ranges[d + 2].name = spatial_name(d, spatial, "o");
  Expander::Post post;
  if (is_average) {
    post = [count](const ir::Expr& sum, const Subscripts&) {
      return ir::make_binary(ir::BinaryOp::Div, sum, ir::make_literal(sum->type, count));
    };
  }
  expander.reduce(
      node.outputs[0], ranges, reductions, is_average ? ir::Combiner::Sum : ir::Combiner::Max,
      [=, &expander](const Subscripts& at) {
        Subscripts from = {at[0], at[1]};
        for (const ir::Range& r : reductions) from.push_back(ir::Affine::symbol(r.name));
        return ir::make_cast(wide, expander.read(x, from));
      },
      post);
}

}  // namespace polyte::graph
