// ArgMax and ArgMin.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;

constexpr std::int64_t kMostPlaces = std::int64_t{1} << 30;  // that are counted in i32

}  // namespace

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

// The largest value, then the lowest position that has it, or the highest one: two reductions whose
// steps are independent, where one of pairs compares each value with the best so far. NaN is above
// and below all numbers.
void expand_arg(Expander& expander, const Node& node) {
  const ArgAttributes attributes = std::get<ArgAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const Dims& result_shape = expander.shape(node.outputs[0]);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const ir::Affine r = ir::Affine::symbol("r");
  const auto value = [&](const Subscripts& at) {
    Subscripts from = at;
    // The axis is there again, as an input of the full rank is read.
    if (!attributes.keep_dims) from.insert(from.begin() + attributes.axis, 0);
    from[axis] = r;
    return expander.read(x, from);
  };
  const Ranges ranges = ranges_over(result_shape), inside = {{"r", 0, shape[axis]}};
  const DType type = shape[axis] > kMostPlaces ? DType::I64 : DType::I32;
  const std::string best = expander.temporary("best", expander.type(x).dtype, result_shape);
  const std::string position = expander.temporary("position", type, result_shape);
  expander.accumulate(best, ranges, inside,
                      node.op == OpKind::ArgMax ? ir::Combiner::Max : ir::Combiner::Min, value);
  const bool is_last = attributes.select_last;
  const ir::Expr none = ir::make_int(type, is_last ? -1 : shape[axis]);
  expander.accumulate(position, ranges, inside, is_last ? ir::Combiner::Max : ir::Combiner::Min,
                      [&](const Subscripts& at) {
                        const ir::Expr v = value(at);
                        ir::Expr is_it = ir::make_binary(BinaryOp::Eq, v, expander.load(best, at));
                        if (is_float(v->type))
                          is_it = ir::make_binary(BinaryOp::Or, is_it,
                                                  ir::make_binary(BinaryOp::Ne, v, v));
                        return ir::make_select(is_it, ir::make_index(r, type), none);
                      });
  expander.define(node.outputs[0], [&expander, position](const Subscripts& out) {
    return ir::make_cast(DType::I64, expander.load(position, out));
  });
}

}  // namespace polyte::graph
