// Gather, GatherElements and GatherND: a subscript read from another tensor. Negative indices count
// from the end. Indices known at compile time are checked by the importer; the Program's bounds are
// those of the operand.
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

}  // namespace

// index, or index + extent where it is negative. One that is outside all the same fails the run:
// loops check every subscript read at run time (lower/check_subscripts.h).
ir::Expr wrapped_index(const ir::Expr& index, std::int64_t extent) {
  const ir::Expr zero = ir::make_int(DType::I64, 0);
  const ir::Expr wide = ir::make_cast(DType::I64, index);
  const ir::Expr shifted =
      ir::make_binary(ir::BinaryOp::Add, wide, ir::make_int(DType::I64, extent));
  return ir::make_select(ir::make_binary(ir::BinaryOp::Lt, wide, zero), shifted, wide);
}

// The shape of the indices takes the place of the axis: of data [5, 7, 9] along axis 1 by indices
// [2, 3] the result is [5, 2, 3, 9],
//
//    y[i, a, b, k] = x[i, index[a, b], k]
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
    const ir::Expr index =
        wrapped_index(expander.read(indices, Subscripts(first, last)), expander.shape(data)[axis]);
    std::vector<ir::Index> from(at.begin(), first);
    from.emplace_back(ir::Affine(0), index);
    from.insert(from.end(), last, at.end());
    return expander.gather(data, from);
  });
}

// The result has the shape of the indices: along axis 0, y[i, j] = x[index[i, j], j].
Types infer_gather_elements(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  if (auto no = expect_indices(graph, node)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& indices = input_type(graph, node, 1).shape;
  const std::int64_t axis = std::get<AxisAttributes>(node.attributes).axis;
  if (auto no = expect_axis(axis, type.shape.size())) return *no;
  bool fits = indices.size() == type.shape.size();
  for (std::size_t d = 0; fits && d < indices.size(); ++d) {
    fits = static_cast<std::int64_t>(d) == axis ? type.shape[d] > 0 || indices[d] == 0
                                                : indices[d] <= type.shape[d];
  }
  if (!fits)
    return Decline{"indices of shape " + shape_text(indices) + " do not fit " +
                   shape_text(type.shape)};
  return std::vector{TensorType{type.dtype, indices}};
}

void expand_gather_elements(Expander& expander, const Node& node) {
  const auto axis = static_cast<std::size_t>(std::get<AxisAttributes>(node.attributes).axis);
  expander.define(node.outputs[0], [&expander, &node, axis](const Subscripts& at) {
    const ValueId data = node.inputs[0];
    std::vector<ir::Index> from(at.begin(), at.end());
    from[axis] = {ir::Affine(0),
                  wrapped_index(expander.read(node.inputs[1], at), expander.shape(data)[axis])};
    return expander.gather(data, from);
  });
}

// The last dimension of the indices is a tuple: subscripts of the dimensions after the batch. Those
// that the tuple does not reach are taken whole: of data [b, h, w, c] by indices [b, n, 2] with one
// batch dimension the result is [b, n, c].
Types infer_gather_nd(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  if (auto no = expect_indices(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 1)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 1, 1)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& indices = input_type(graph, node, 1).shape;
  const auto batch =
      static_cast<std::size_t>(std::get<GatherNDAttributes>(node.attributes).batch_dims);
  const auto tuple = static_cast<std::size_t>(indices.back());
  bool fits = batch < indices.size() && batch < type.shape.size() && indices.back() >= 0 &&
              tuple <= type.shape.size() && batch + tuple <= type.shape.size();
  for (std::size_t d = 0; fits && d < batch; ++d) fits = indices[d] == type.shape[d];
  if (!fits) {
    return Decline{"indices of shape " + shape_text(indices) + " do not fit " +
                   shape_text(type.shape) + " with " + std::to_string(batch) + " batch dimensions"};
  }
  Dims shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), type.shape.begin() + static_cast<std::ptrdiff_t>(batch + tuple),
               type.shape.end());
  for (std::size_t d = batch; d < batch + tuple; ++d) {
    if (type.shape[d] == 0 && element_count(shape) > 0)
      return Decline{"gathers from an empty axis"};
  }
  return std::vector{TensorType{type.dtype, shape}};
}

void expand_gather_nd(Expander& expander, const Node& node) {
  const auto batch = std::get<GatherNDAttributes>(node.attributes).batch_dims;
  expander.define(node.outputs[0], [&expander, &node, batch](const Subscripts& at) {
    const ValueId data = node.inputs[0], indices = node.inputs[1];
    const Dims &shape = expander.shape(data), &index_shape = expander.shape(indices);
    const auto outer = at.begin() + static_cast<std::ptrdiff_t>(index_shape.size()) - 1;
    std::vector<ir::Index> from(at.begin(), at.begin() + batch);
    for (std::int64_t i = 0; i < index_shape.back(); ++i) {
      Subscripts tuple(at.begin(), outer);
      tuple.emplace_back(i);
      const std::int64_t extent = shape[static_cast<std::size_t>(batch + i)];
      from.emplace_back(ir::Affine(0), wrapped_index(expander.read(indices, tuple), extent));
    }
    from.insert(from.end(), outer, at.end());
    return expander.gather(data, from);
  });
}

}  // namespace polyte::graph
