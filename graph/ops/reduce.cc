// Reductions over a set of axes.
#include <algorithm>
#include <limits>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Combiner;
using ir::Expr;
using ir::UnaryOp;

// Axes are sorted (infer_reduce).
bool is_reduced(const Dims& axes, std::size_t d) {
  return std::ranges::binary_search(axes, static_cast<std::int64_t>(d));
}

// Loops over the reduced axes, and the subscripts of the input that belong to those of the output:
// over axes 0 and 2 of [a, b, c], output (i, j, k) with keep_dims, or (i) without, reads (r0, j,
// r1) or (r0, i, r1).
struct Axes {
  Ranges reductions;
  std::function<Subscripts(const Subscripts&)> input_at;
  std::int64_t count = 1;
};

Axes axes_of(const Dims& shape, const ReduceAttributes& attributes) {
  Axes axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!is_reduced(attributes.axes, d)) continue;
    axes.reductions.push_back({"r" + std::to_string(axes.reductions.size()), 0, shape[d]});
    axes.count *= shape[d];
  }
  const std::size_t rank = shape.size();
  axes.input_at = [reduce = attributes, rank](const Subscripts& at) {
    Subscripts from;
    std::size_t reduced = 0, kept = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const bool gone = is_reduced(reduce.axes, d);
      from.push_back(gone ? ir::Affine::symbol("r" + std::to_string(reduced++)) : at[kept]);
      if (!gone || reduce.keep_dims) ++kept;
    }
    return from;
  };
  return axes;
}

Combiner combiner_of(OpKind op) {
  switch (op) {
    case OpKind::ReduceMax:
      return Combiner::Max;
    case OpKind::ReduceMin:
      return Combiner::Min;
    case OpKind::ReduceProd:
      return Combiner::Product;
    default:
      return Combiner::Sum;
  }
}

// g, for each term.
Expr prepared(OpKind op, const Expr& x) {
  switch (op) {
    case OpKind::ReduceL1:
      return ir::make_unary(UnaryOp::Abs, x);
    case OpKind::ReduceL2:
    case OpKind::ReduceSumSquare:
      return ir::make_binary(BinaryOp::Mul, x, x);
    default:
      return x;
  }
}

// What becomes of the combined value. Prepared and finished, a reduction is f(sum over g(x)).
Expr finished(OpKind op, const Expr& sum, std::int64_t count) {
  switch (op) {
    case OpKind::ReduceMean:
      return ir::make_binary(BinaryOp::Div, sum,
                             ir::make_literal(sum->type, static_cast<double>(count)));
    case OpKind::ReduceL2:
      // A root of integers is taken in f64; the cast back truncates.
      if (!is_float(sum->type))
        return ir::make_unary(UnaryOp::Sqrt, ir::make_cast(DType::F64, sum));
      return ir::make_unary(UnaryOp::Sqrt, sum);
    case OpKind::ReduceLogSum:
      return ir::make_unary(UnaryOp::Log, sum);
    default:
      return sum;
  }
}

bool needs_finish(OpKind op) {
  return op == OpKind::ReduceMean || op == OpKind::ReduceL2 || op == OpKind::ReduceLogSum;
}

// log(sum(exp(x - max))) + max, which does not overflow. Where max is infinite, 0 is subtracted
// instead: inf - inf would be a NaN.
void expand_log_sum_exp(Expander& expander, const Node& node, const Ranges& ranges,
                        const Axes& axes) {
  const ValueId x = node.inputs[0];
  const DType type = accumulator_of(expander.type(x).dtype);
  const std::string top = expander.temporary("max", type, expander.shape(node.outputs[0]));
  auto widened = [&expander, x, type, axes](const Subscripts& out) {
    return ir::make_cast(type, expander.read(x, axes.input_at(out)));
  };
  expander.accumulate(top, ranges, axes.reductions, Combiner::Max, widened);
  auto finite_top = [&expander, top, type](const Subscripts& out) {
    const Expr m = expander.load(top, out);
    const Expr infinity = ir::make_literal(type, std::numeric_limits<double>::infinity());
    const Expr is_infinite =
        ir::make_binary(BinaryOp::Eq, ir::make_unary(UnaryOp::Abs, m), infinity);
    return ir::make_select(is_infinite, ir::make_literal(type, 0), m);
  };
  expander.reduce(
      node.outputs[0], ranges, axes.reductions, Combiner::Sum,
      [=](const Subscripts& out) {
        return ir::make_unary(UnaryOp::Exp,
                              ir::make_binary(BinaryOp::Sub, widened(out), finite_top(out)));
      },
      [=](const Expr& sum, const Subscripts& out) {
        return ir::make_binary(BinaryOp::Add, ir::make_unary(UnaryOp::Log, sum), finite_top(out));
      });
}

}  // namespace

Types infer_reduce(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (node.op == OpKind::ReduceLogSum || node.op == OpKind::ReduceLogSumExp) {
    if (auto no = expect_float(graph, node, 0)) return *no;
  }
  const TensorType& type = input_type(graph, node, 0);
  const auto& [axes, keep_dims] = std::get<ReduceAttributes>(node.attributes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (auto no = expect_axis(axes[i], type.shape.size())) return *no;
    if (i > 0 && axes[i] <= axes[i - 1])
      return Decline{"axes " + shape_text(axes) + " are not sorted and distinct"};
  }
  Dims shape;
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    if (!is_reduced(axes, d))
      shape.push_back(type.shape[d]);
    else if (keep_dims)
      shape.push_back(1);
  }
  return std::vector{TensorType{type.dtype, shape}};
}

void expand_reduce(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const Axes axes = axes_of(expander.shape(x), std::get<ReduceAttributes>(node.attributes));
  const Ranges ranges = ranges_over(expander.shape(node.outputs[0]));
  const OpKind op = node.op;
  const DType type = expander.type(x).dtype, wide = accumulator_of(type);
  // Over no axes a reduction has one term: the combiner has nothing to do, g and f still apply.
  if (axes.reductions.empty()) {  // of a scalar
    expander.define(node.outputs[0], [&expander, x, op, type, wide](const Subscripts& at) {
      const Expr term = prepared(op, ir::make_cast(wide, expander.read(x, at)));
      return ir::make_cast(type, finished(op, term, 1));
    });
    return;
  }
  if (op == OpKind::ReduceLogSumExp) return expand_log_sum_exp(expander, node, ranges, axes);
  Expander::Post post;
  if (needs_finish(op)) {
    post = [op, count = axes.count](const Expr& sum, const Subscripts&) {
      return finished(op, sum, count);
    };
  }
  expander.reduce(
      node.outputs[0], ranges, axes.reductions, combiner_of(op),
      [&expander, x, op, wide, axes](const Subscripts& at) {
        return prepared(op, ir::make_cast(wide, expander.read(x, axes.input_at(at))));
      },
      post);
}

}  // namespace polyte::graph
