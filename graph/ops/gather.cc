// Gather and GatherElements: a subscript read from another tensor. Negative indices count from the end. Indices
// known at compile time are checked by the importer; the Program's bounds are those of the operand.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

Complaint expect_indices(const Graph& graph, const Node& node) {
  const DType type = input_type(graph, node, 1).dtype;
  if (type == DType::I32 || type == DType::I64) return std::nullopt;
  return Decline{"input 1 is " + std::string(polyte::to_string(type)) + ", expected i32 or i64"};
}

// index, or index + extent where it is negative; clamped into the extent, so that a wrong one never leaves the
// operand (Program semantics: reading outside is undefined).
ir::Expr wrapped(const ir::Expr& index, std::int64_t extent) {
  const ir::Expr zero = ir::make_int(DType::I64, 0);
  const ir::Expr wide = ir::make_cast(DType::I64, index);
  const ir::Expr shifted = ir::make_binary(ir::BinaryOp::Add, wide, ir::make_int(DType::I64, extent));
  const ir::Expr from_start = ir::make_select(ir::make_binary(ir::BinaryOp::Lt, wide, zero), shifted, wide);
  const ir::Expr last = ir::make_int(DType::I64, extent - 1);
  return ir::make_binary(ir::BinaryOp::Min, ir::make_binary(ir::BinaryOp::Max, from_start, zero), last);
}

}  // namespace

Types infer_gather(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  if (auto no = expect_indices(graph, node)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& indices = input_type(graph, node, 1).shape;
  const std::int64_t axis = std::get<AxisAttributes>(node.attributes).axis;
  if (auto no = expect_axis(axis, type.shape.size())) return *no;
  if (type.shape[static_cast<std::size_t>(axis)] == 0 && element_count(indices) > 0)
    return Decline{"gathers from an empty axis"};
  Dims shape(type.shape.begin(), type.shape.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), type.shape.begin() + axis + 1, type.shape.end());
  return std::vector{TensorType{type.dtype, shape}};
}

void expand_gather(Expander& expander, const Node& node) {
  const auto axis = static_cast<std::size_t>(std::get<AxisAttributes>(node.attributes).axis);
  expander.define(node.outputs[0], [&expander, &node, axis](const Subscripts& at) {
    const ValueId data = node.inputs[0], indices = node.inputs[1];
    const std::size_t index_rank = expander.shape(indices).size();
    const auto first = at.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto last = first + static_cast<std::ptrdiff_t>(index_rank);
    const ir::Expr index = wrapped(expander.read(indices, Subscripts(first, last)), expander.shape(data)[axis]);
    std::vector<ir::Index> from(at.begin(), first);
    from.emplace_back(ir::Affine(0), index);
    from.insert(from.end(), last, at.end());
    return expander.gather(data, from);
  });
}

Types infer_gather_elements(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  if (auto no = expect_indices(graph, node)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& indices = input_type(graph, node, 1).shape;
  const std::int64_t axis = std::get<AxisAttributes>(node.attributes).axis;
  if (auto no = expect_axis(axis, type.shape.size())) return *no;
  bool fits = indices.size() == type.shape.size();
  for (std::size_t d = 0; fits && d < indices.size(); ++d) {
    fits = static_cast<std::int64_t>(d) == axis ? type.shape[d] > 0 || indices[d] == 0 : indices[d] <= type.shape[d];
  }
  if (!fits) return Decline{"indices of shape " + shape_text(indices) + " do not fit " + shape_text(type.shape)};
  return std::vector{TensorType{type.dtype, indices}};
}

void expand_gather_elements(Expander& expander, const Node& node) {
  const auto axis = static_cast<std::size_t>(std::get<AxisAttributes>(node.attributes).axis);
  expander.define(node.outputs[0], [&expander, &node, axis](const Subscripts& at) {
    const ValueId data = node.inputs[0];
    std::vector<ir::Index> from(at.begin(), at.end());
    from[axis] = {ir::Affine(0), wrapped(expander.read(node.inputs[1], at), expander.shape(data)[axis])};
    return expander.gather(data, from);
  });
}

}  // namespace polyte::graph
