// ScatterElements and ScatterND: a copy of the data, then an update of it for every index,
// in row-major order of the updates. Where several updates meet, the last one stays,
// or their reduction.
//   out[i, j] = data[i, j]
//   out[index[i, j], j] = updates[i, j]
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Expr;

Complaint expect_operands(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 3, 3)) return no;
  const DType index = input_type(graph, node, 1).dtype, data = input_type(graph, node, 0).dtype;
  if (index != DType::I32 && index != DType::I64)
    return Decline{"input 1 is " + std::string(polyte::to_string(index)) + ", expected i32 or i64"};
  const DType update = input_type(graph, node, 2).dtype;
  if (update != data) {
    return Decline{"input 2 is " + std::string(polyte::to_string(update)) + ", expected " +
                   std::string(polyte::to_string(data)) + " like input 0"};
  }
  const bool computes =
      std::get<ScatterAttributes>(node.attributes).reduction != ScatterReduction::None;
  return computes ? expect_number(graph, node, 0) : Complaint{};
}

Expr combined(ScatterReduction reduction, const Expr& current, const Expr& update) {
  switch (reduction) {
    case ScatterReduction::None:
      return update;
    case ScatterReduction::Add:
      return ir::make_binary(BinaryOp::Add, current, update);
    case ScatterReduction::Mul:
      return ir::make_binary(BinaryOp::Mul, current, update);
    case ScatterReduction::Max:
      return ir::make_binary(BinaryOp::Max, current, update);
    case ScatterReduction::Min:
      return ir::make_binary(BinaryOp::Min, current, update);
  }
  return update;
}

// out[all] = data[all]
// out[to(at)] = updates[at]        or combined with what out[to(at)] holds by then
void add_updates(Expander& expander, const Node& node, const Expander::Position& to) {
  const ValueId data = node.inputs[0], updates = node.inputs[2];
  const ScatterReduction reduction = std::get<ScatterAttributes>(node.attributes).reduction;
  const std::string result = expander.store(node.outputs[0]);
  const Ranges all = ranges_over(expander.shape(data));
  expander.assign(result, subscripts_of(all), all,
                  [&](const Subscripts& at) { return expander.read(data, at); });
  if (element_count(expander.shape(updates)) == 0) return;
  expander.scatter(result, ranges_over(expander.shape(updates)), to, [&](const Subscripts& at) {
    Expr update = expander.read(updates, at);
    if (reduction == ScatterReduction::None) return update;
    // A read of the element that is written: the Program's order of instances says whose turn it
    // is.
    return combined(reduction, expander.load_at(result, to(at)), update);
  });
}

}  // namespace

Types infer_scatter_elements(const Graph& graph, const Node& node) {
  if (auto no = expect_operands(graph, node)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims &indices = input_type(graph, node, 1).shape,
             &updates = input_type(graph, node, 2).shape;
  const std::int64_t axis = std::get<ScatterAttributes>(node.attributes).axis;
  if (auto no = expect_axis(axis, type.shape.size())) return *no;
  bool fits = indices == updates && indices.size() == type.shape.size();
  for (std::size_t d = 0; fits && d < indices.size(); ++d) {
    const bool along = static_cast<std::int64_t>(d) == axis;
    fits = along ? type.shape[d] > 0 || element_count(indices) == 0 : indices[d] <= type.shape[d];
  }
  if (!fits) {
    return Decline{"indices of shape " + shape_text(indices) + " and updates of shape " +
                   shape_text(updates) + " do not fit " + shape_text(type.shape)};
  }
  return std::vector{type};
}

void expand_scatter_elements(Expander& expander, const Node& node) {
  const auto axis = static_cast<std::size_t>(std::get<ScatterAttributes>(node.attributes).axis);
  add_updates(expander, node, [&expander, &node, axis](const Subscripts& at) {
    std::vector<ir::Index> to(at.begin(), at.end());
    const std::int64_t extent = expander.shape(node.inputs[0])[axis];
    to[axis] = {ir::Affine(0), wrapped_index(expander.read(node.inputs[1], at), extent)};
    return to;
  });
}

Types infer_scatter_nd(const Graph& graph, const Node& node) {
  if (auto no = expect_operands(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 1, 1)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims &indices = input_type(graph, node, 1).shape,
             &updates = input_type(graph, node, 2).shape;
  const auto tuple = static_cast<std::size_t>(indices.back());
  Dims expected(indices.begin(), indices.end() - 1);
  bool fits = tuple <= type.shape.size();
  if (fits) {
    expected.insert(expected.end(), type.shape.begin() + indices.back(), type.shape.end());
    fits = updates == expected;
  }
  for (std::size_t d = 0; fits && d < tuple; ++d)
    fits = type.shape[d] > 0 || element_count(updates) == 0;
  if (!fits) {
    return Decline{"indices of shape " + shape_text(indices) + " and updates of shape " +
                   shape_text(updates) + " do not fit " + shape_text(type.shape)};
  }
  return std::vector{type};
}

void expand_scatter_nd(Expander& expander, const Node& node) {
  add_updates(expander, node, [&expander, &node](const Subscripts& at) {
    const Dims &shape = expander.shape(node.inputs[0]),
               &index_shape = expander.shape(node.inputs[1]);
    const auto outer = at.begin() + static_cast<std::ptrdiff_t>(index_shape.size()) - 1;
    std::vector<ir::Index> to;
    for (std::int64_t i = 0; i < index_shape.back(); ++i) {
      Subscripts tuple(at.begin(), outer);
      tuple.emplace_back(i);
      const std::int64_t extent = shape[static_cast<std::size_t>(i)];
      to.emplace_back(ir::Affine(0), wrapped_index(expander.read(node.inputs[1], tuple), extent));
    }
    to.insert(to.end(), outer, at.end());
    return to;
  });
}

}  // namespace polyte::graph
