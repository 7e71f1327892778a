// Softmax, LogSoftmax and Hardmax over dimensions [axis, end) together.
//   top[o] = max x;  e[o, r] = exp(x - top);  total[o] = sum e;  y = e / total
//   LogSoftmax:  total[o] = sum exp(x - top);  y = (x - top) - log total
// The largest element is subtracted so that no exponential overflows. Softmax stores e, which both
// the sum and the quotient read; LogSoftmax has no use for it in the end.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Expr;

// The dimensions that are normalised over are reduction iterators, the others index
// the temporaries.
struct Split {
  std::size_t axis, end;
  Dims outer;
  Ranges ranges, reductions;

  Subscripts outer_of(const Subscripts& at) const {
    Subscripts result(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axis));
    result.insert(result.end(), at.begin() + static_cast<std::ptrdiff_t>(end), at.end());
    return result;
  }
  Subscripts whole(const Subscripts& outer_at) const {
    Subscripts at(outer_at.begin(), outer_at.begin() + static_cast<std::ptrdiff_t>(axis));
    for (const ir::Range& r : reductions) at.push_back(ir::Affine::symbol(r.name));
    at.insert(at.end(), outer_at.begin() + static_cast<std::ptrdiff_t>(axis), outer_at.end());
    return at;
  }
};

Split split_of(const Dims& shape, const SoftmaxAttributes& attributes) {
  Split split{static_cast<std::size_t>(attributes.axis),
              static_cast<std::size_t>(attributes.end),
              {},
              {},
              {}};
  // One name per dimension in all statements, so that their loops can be fused.
  for (const ir::Range& range : ranges_over(shape)) {
    const std::size_t d = split.outer.size() + split.reductions.size();
    const bool inside = d >= split.axis && d < split.end;
    (inside ? split.reductions : split.ranges).push_back(range);
    if (!inside) split.outer.push_back(shape[d]);
  }
  return split;
}

}  // namespace

Types infer_softmax(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no =
          node.op == OpKind::Hardmax ? expect_number(graph, node, 0) : expect_float(graph, node, 0))
    return *no;
  const TensorType& x = input_type(graph, node, 0);
  const auto& [axis, end] = std::get<SoftmaxAttributes>(node.attributes);
  if (axis < 0 || axis >= end || end > static_cast<std::int64_t>(x.shape.size())) {
    return Decline{"axis " + std::to_string(axis) + " is out of range for rank " +
                   std::to_string(x.shape.size())};
  }
  return std::vector{x};
}

void expand_softmax(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const Split split = split_of(shape, std::get<SoftmaxAttributes>(node.attributes));
  const DType type = expander.type(x).dtype, wide = accumulator_of(type);
  const std::string top = expander.temporary("top", wide, split.outer);
  const std::string total = expander.temporary("total", wide, split.outer);
  auto element = [&expander, x, wide](const Subscripts& at) {
    return ir::make_cast(wide, expander.read(x, at));
  };
  auto shifted = [=, &expander](const Subscripts& at) {
    return ir::make_binary(BinaryOp::Sub, element(at), expander.load(top, split.outer_of(at)));
  };
  expander.accumulate(top, split.ranges, split.reductions, ir::Combiner::Max,
                      [&](const Subscripts& at) { return element(split.whole(at)); });
  if (node.op == OpKind::LogSoftmax) {
    expander.accumulate(total, split.ranges, split.reductions, ir::Combiner::Sum,
                        [&](const Subscripts& at) {
                          return ir::make_unary(ir::UnaryOp::Exp, shifted(split.whole(at)));
                        });
    expander.define(node.outputs[0], [=, &expander](const Subscripts& at) {
      const Expr log_total =
          ir::make_unary(ir::UnaryOp::Log, expander.load(total, split.outer_of(at)));
      return ir::make_cast(type, ir::make_binary(BinaryOp::Sub, shifted(at), log_total));
    });
    return;
  }
  const std::string e = expander.temporary("e", wide, shape);
  const Ranges everywhere = ranges_over(shape);
  expander.assign(e, subscripts_of(everywhere), everywhere, [&](const Subscripts& at) {
    return ir::make_unary(ir::UnaryOp::Exp, shifted(at));
  });
  expander.accumulate(total, split.ranges, split.reductions, ir::Combiner::Sum,
                      [&](const Subscripts& at) { return expander.load(e, split.whole(at)); });
  expander.define(node.outputs[0], [=, &expander](const Subscripts& at) {
    return ir::make_cast(type, ir::make_binary(BinaryOp::Div, expander.load(e, at),
                                               expander.load(total, split.outer_of(at))));
  });
}

// 1 at the first largest element, 0 elsewhere; positions count through [axis, end)
// in row-major order.
void expand_hardmax(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const Dims shape = expander.shape(x);
  const Split split = split_of(shape, std::get<SoftmaxAttributes>(node.attributes));
  const DType type = expander.type(x).dtype;
  const std::string best = expander.temporary("best", type, split.outer);
  const std::string place = expander.temporary("place", DType::I64, split.outer);
  auto position = [split, shape](const Subscripts& at) {
    ir::Affine flat = 0;
    for (std::size_t d = split.axis; d < split.end; ++d) flat = flat * shape[d] + at[d];
    return ir::make_index(flat);
  };
  expander.accumulate_arg(
      best, place, split.ranges, split.reductions, ir::Combiner::ArgMax,
      [&](const Subscripts& at) { return expander.read(x, split.whole(at)); },
      [&](const Subscripts& at) { return position(split.whole(at)); });
  expander.define(node.outputs[0], [=, &expander](const Subscripts& at) {
    const Expr is_best =
        ir::make_binary(BinaryOp::Eq, position(at), expander.load(place, split.outer_of(at)));
    return ir::make_select(is_best, ir::make_literal(type, 1), ir::make_literal(type, 0));
  });
}

}  // namespace polyte::graph
