#include "graph/ops/moments.h"

namespace polyte::graph {

using ir::BinaryOp;
using ir::Expr;

Moments add_moments(Expander& expander, ValueId x, std::size_t axis, double epsilon) {
  const Dims& shape = expander.shape(x);
  const DType wide = accumulator_of(expander.type(x).dtype);
  const Dims outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  // One name per dimension in all statements, so that their loops can be fused.
  const Ranges all = ranges_over(shape);
  const auto first_reduced = all.begin() + static_cast<std::ptrdiff_t>(axis);
  const Ranges ranges(all.begin(), first_reduced), reductions(first_reduced, all.end());
  double count = 1;
  for (std::size_t d = axis; d < shape.size(); ++d) count *= static_cast<double>(shape[d]);
  auto element = [&](const Subscripts& at) {
    Subscripts from = at;
    for (const ir::Range& r : reductions) from.push_back(ir::Affine::symbol(r.name));
    return ir::make_cast(wide, expander.read(x, from));
  };
  auto divided = [&](const std::string& sum, const Subscripts& at) {
    return ir::make_binary(BinaryOp::Div, expander.load(sum, at), ir::make_literal(wide, count));
  };
  const Subscripts everywhere = subscripts_of(ranges);
  const std::string sum = expander.temporary("total", wide, outer);
  expander.accumulate(sum, ranges, reductions, ir::Combiner::Sum, element);
  Moments moments;
  moments.mean = expander.temporary("mean", wide, outer);
  expander.assign(moments.mean, everywhere, ranges,
                  [&](const Subscripts& at) { return divided(sum, at); });
  const std::string squares = expander.temporary("squares", wide, outer);
  expander.accumulate(squares, ranges, reductions, ir::Combiner::Sum, [&](const Subscripts& at) {
    const Expr centred =
        ir::make_binary(BinaryOp::Sub, element(at), expander.load(moments.mean, at));
    return ir::make_binary(BinaryOp::Mul, centred, centred);
  });
  moments.inverse_deviation = expander.temporary("inverse_deviation", wide, outer);
  expander.assign(moments.inverse_deviation, everywhere, ranges, [&](const Subscripts& at) {
    const Expr variance =
        ir::make_binary(BinaryOp::Add, divided(squares, at), ir::make_literal(wide, epsilon));
    return ir::make_binary(BinaryOp::Div, ir::make_literal(wide, 1),
                           ir::make_unary(ir::UnaryOp::Sqrt, variance));
  });
  return moments;
}

}  // namespace polyte::graph
