// Gemm: alpha * A' B' + beta * C, C broadcasting to the result.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_gemm(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  const auto& attributes = std::get<GemmAttributes>(node.attributes);
  Dims a = input_type(graph, node, 0).shape, b = input_type(graph, node, 1).shape;
  if (a.size() != 2 || b.size() != 2)
    return Decline{"operands are " + shape_text(a) + " and " + shape_text(b) +
                   ", expected matrices"};
  if (attributes.trans_a) std::swap(a[0], a[1]);
  if (attributes.trans_b) std::swap(b[0], b[1]);
  if (a[1] != b[0])
    return Decline{"cannot multiply " + shape_text(a) + " by " + shape_text(b) +
                   " (after transposition)"};
  const Dims shape = {a[0], b[1]};
  if (has_input(node, 2)) {
    const Dims& c = input_type(graph, node, 2).shape;
    // One way only: C must not make the result larger.
    const auto together = broadcast(c, shape);
    if (!together || *together != shape)
      return Decline{"input 2 has shape " + shape_text(c) + ", which does not broadcast to " +
                     shape_text(shape)};
  }
  return std::vector{TensorType{input_type(graph, node, 0).dtype, shape}};
}

void expand_gemm(Expander& expander, const Node& node) {
  const GemmAttributes attributes = std::get<GemmAttributes>(node.attributes);
  const ValueId a = node.inputs[0], b = node.inputs[1];
  // As in BLAS, C is not read where beta is 0: a NaN in it does not reach the result.
  const ValueId c = has_input(node, 2) && attributes.beta != 0 ? node.inputs[2] : kNoValue;
  const Dims& shape = expander.shape(node.outputs[0]);
  const DType wide = accumulator_of(expander.type(a).dtype);
  // A factor of 1 leaves no multiplication behind: x * 1 is exact, but takes an instruction.
  auto scaled = [wide](double factor, const ir::Expr& e) {
    return factor == 1 ? e : ir::make_binary(ir::BinaryOp::Mul, ir::make_literal(wide, factor), e);
  };
  Expander::Post post;
  if (attributes.alpha != 1 || c != kNoValue) {
    post = [=, &expander](const ir::Expr& product, const Subscripts& at) {
      ir::Expr first = scaled(attributes.alpha, product);
      if (c == kNoValue) return first;
      const ir::Expr addend = ir::make_cast(wide, expander.read_broadcast(c, at));
      return ir::make_binary(ir::BinaryOp::Add, first, scaled(attributes.beta, addend));
    };
  }
  const std::int64_t depth = expander.shape(a)[attributes.trans_a ? 0 : 1];
  expander.reduce(
      node.outputs[0], {{"m", 0, shape[0]}, {"n", 0, shape[1]}}, {{"k", 0, depth}},
      ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const ir::Affine k = ir::Affine::symbol("k");
        const Subscripts from_a = attributes.trans_a ? Subscripts{k, at[0]} : Subscripts{at[0], k};
        const Subscripts from_b = attributes.trans_b ? Subscripts{at[1], k} : Subscripts{k, at[1]};
        return ir::make_binary(ir::BinaryOp::Mul, ir::make_cast(wide, expander.read(a, from_a)),
                               ir::make_cast(wide, expander.read(b, from_b)));
      },
      post);
}

}  // namespace polyte::graph
