// TopK: the place of an element is the number of those that come before it; the k first places are then found by
// comparing. Quadratic in the axis, without branches, and the same for every scheduler.
//   rank[i]   = sum[r] x[r] comes before x[i] ? 1 : 0
//   index[j]  = sum[r] rank[r] == j ? r : 0
//   values[j] = x[index[j]]
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/checked.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Expr;

constexpr std::int64_t kMostComparisons = std::int64_t{1} << 34;

Expr both(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::And, a, b); }
Expr either(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::Or, a, b); }

// a above b; NaN is above all numbers.
Expr is_above(const Expr& a, const Expr& b) {
  Expr above = ir::make_binary(BinaryOp::Lt, b, a);
  if (!is_float(a->type)) return above;
  return either(above, both(ir::make_binary(BinaryOp::Ne, a, a), ir::make_binary(BinaryOp::Eq, b, b)));
}

}  // namespace

Types infer_top_k(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  TensorType type = input_type(graph, node, 0);
  const auto& [axis, k, largest] = std::get<TopKAttributes>(node.attributes);
  if (auto no = expect_axis(axis, type.shape.size())) return *no;
  std::int64_t& extent = type.shape[static_cast<std::size_t>(axis)];
  if (k < 0 || k > extent) return Decline{"k is " + std::to_string(k) + ", the axis has " + std::to_string(extent)};
  if (checked_mul(element_count(type.shape), extent) > kMostComparisons) {
    return Decline{"compares each of " + std::to_string(element_count(type.shape)) + " elements with " +
                   std::to_string(extent) + " others, the limit is 2^34 comparisons"};
  }
  extent = k;
  return std::vector{type, TensorType{DType::I64, type.shape}};
}

void expand_top_k(Expander& expander, const Node& node) {
  const TopKAttributes attributes = std::get<TopKAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const Dims& result_shape = expander.type(node.outputs[0]).shape;
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const ir::Affine r = ir::Affine::symbol("r");
  const Expr one = ir::make_int(DType::I64, 1), zero = ir::make_int(DType::I64, 0);
  auto along = [axis](Subscripts at, const ir::Affine& place) {
    at[axis] = place;
    return at;
  };

  const std::string rank = expander.temporary("rank", DType::I64, shape);
  expander.accumulate(rank, ranges_over(shape), {{"r", 0, shape[axis]}}, ir::Combiner::Sum, [&](const Subscripts& at) {
    const Expr own = expander.read(x, at), other = expander.read(x, along(at, r));
    const Expr before = attributes.largest ? is_above(other, own) : is_above(own, other);
    const Expr after = attributes.largest ? is_above(own, other) : is_above(other, own);
    const Expr earlier = ir::make_binary(BinaryOp::Lt, ir::make_index(r), ir::make_index(at[axis]));
    const Expr comes_first = either(before, both(ir::make_unary(ir::UnaryOp::Not, after), earlier));
    return ir::make_select(comes_first, one, zero);
  });

  const std::string place = expander.temporary("place", DType::I64, result_shape);
  expander.accumulate(
      place, ranges_over(result_shape), {{"r", 0, shape[axis]}}, ir::Combiner::Sum, [&](const Subscripts& at) {
        const Expr is_here = ir::make_binary(BinaryOp::Eq, expander.load(rank, along(at, r)), ir::make_index(at[axis]));
        return ir::make_select(is_here, ir::make_index(r), zero);
      });

  expander.define(node.outputs[0], [&expander, x, place, axis](const Subscripts& at) {
    std::vector<ir::Index> from(at.begin(), at.end());
    from[axis] = {ir::Affine(0), expander.load(place, at)};
    return expander.gather(x, from);
  });
  if (node.outputs.size() > 1) {
    expander.define(node.outputs[1], [&expander, place](const Subscripts& at) { return expander.load(place, at); });
  }
}

}  // namespace polyte::graph
