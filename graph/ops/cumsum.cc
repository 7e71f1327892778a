// CumSum: a triangular sum along one axis.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_cumsum(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  if (auto no = expect_axis(std::get<CumSumAttributes>(node.attributes).axis, type.shape.size())) return *no;
  return std::vector{type};
}

void expand_cumsum(Expander& expander, const Node& node) {
  const CumSumAttributes attributes = std::get<CumSumAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const ir::Affine r = ir::Affine::symbol("r");
  const Ranges ranges = ranges_over(shape);
  const ir::Affine here = ir::Affine::symbol(ranges[axis].name);
  const ir::Affine skip = attributes.exclusive ? 1 : 0;
  const ir::Affine begin = attributes.reverse ? here + skip : ir::Affine(0);
  const ir::Affine end = attributes.reverse ? ir::Affine(shape[axis]) : here + ir::Affine(1) - skip;
  expander.accumulate(expander.store(node.outputs[0]), ranges, {{"r", begin, end}}, ir::Combiner::Sum,
                      [&](const Subscripts& at) {
                        Subscripts from = at;
                        from[axis] = r;
                        return expander.read(x, from);
                      });
}

}  // namespace polyte::graph
