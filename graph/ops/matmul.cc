// MatMul as NumPy has it: the last two dimensions multiply, the others broadcast, 1-D operands
// are a row or column.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

Dims leading(const Dims& shape) {
  return shape.size() > 2 ? Dims(shape.begin(), shape.end() - 2) : Dims{};
}

// Subscripts of the batch dimensions of an operand: the trailing ones of `batch`, 0 where
// it broadcasts.
Subscripts batch_subscripts(const Dims& shape, const Dims& result, const Subscripts& batch) {
  const Dims own = leading(shape);
  Subscripts at;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const std::size_t outer = batch.size() - own.size() + d;
    at.push_back(own[d] == result[outer] ? batch[outer] : ir::Affine(0));
  }
  return at;
}

}  // namespace

Types infer_matmul(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto no = expect_rank_at_least(graph, node, i, 1)) return *no;
  }
  const Dims& a = input_type(graph, node, 0).shape;
  const Dims& b = input_type(graph, node, 1).shape;
  // [2, 1, m, k] by [5, k, n] gives [2, 5, m, n]; a vector has neither m nor n.
  // The dimension of b that is summed over: its last but one, or the only one of a vector.
  const std::int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  auto shape = broadcast(leading(a), leading(b));
  if (a.back() != inner || !shape)
    return Decline{"cannot multiply " + shape_text(a) + " by " + shape_text(b)};
  if (a.size() > 1) shape->push_back(a[a.size() - 2]);
  if (b.size() > 1) shape->push_back(b.back());
  return std::vector{TensorType{input_type(graph, node, 0).dtype, *shape}};
}

void expand_matmul(Expander& expander, const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1];
  const Dims &a_shape = expander.shape(a), &b_shape = expander.shape(b),
             &shape = expander.shape(node.outputs[0]);
  const bool has_m = a_shape.size() > 1, has_n = b_shape.size() > 1;
  const std::size_t batch_rank = shape.size() - (has_m ? 1 : 0) - (has_n ? 1 : 0);
  Ranges ranges;
  for (std::size_t d = 0; d < batch_rank; ++d)
    ranges.push_back({batch_rank == 1 ? "b" : "b" + std::to_string(d), 0, shape[d]});
  if (has_m) ranges.push_back({"m", 0, shape[batch_rank]});
  if (has_n) ranges.push_back({"n", 0, shape.back()});
  const DType wide = accumulator_of(expander.type(a).dtype);
  const Dims extents = shape;
  expander.reduce(
      node.outputs[0], ranges, {{"k", 0, a_shape.back()}}, ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const Subscripts batch(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch_rank));
        const ir::Affine k = ir::Affine::symbol("k");
        Subscripts from_a = batch_subscripts(expander.shape(a), extents, batch);
        if (has_m) from_a.push_back(at[batch_rank]);
        from_a.push_back(k);
        Subscripts from_b = batch_subscripts(expander.shape(b), extents, batch);
        from_b.push_back(k);
        if (has_n) from_b.push_back(at.back());
        return ir::make_binary(ir::BinaryOp::Mul, ir::make_cast(wide, expander.read(a, from_a)),
                               ir::make_cast(wide, expander.read(b, from_b)));
      });
}

}  // namespace polyte::graph
