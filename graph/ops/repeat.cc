// Expand and Tile: elements appear several times.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/checked.h"

namespace polyte::graph {

Types infer_expand(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& shape = std::get<ShapeAttributes>(node.attributes).shape;
  const auto result = broadcast(type.shape, shape);
  // One way only: x must broadcast to the shape, not the shape to x.
  if (!result || *result != shape) {
    return Decline{"shape " + shape_text(type.shape) + " does not broadcast to " +
                   shape_text(shape)};
  }
  return std::vector{TensorType{type.dtype, shape}};
}

void expand_expand(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  expander.define(node.outputs[0],
                  [&expander, x](const Subscripts& at) { return expander.read_broadcast(x, at); });
}

Types infer_tile(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  TensorType type = input_type(graph, node, 0);
  const Dims& repeats = std::get<TileAttributes>(node.attributes).repeats;
  if (repeats.size() != type.shape.size()) {
    return Decline{"got " + std::to_string(repeats.size()) + " repeats, expected " +
                   std::to_string(type.shape.size())};
  }
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) return Decline{"repeats " + shape_text(repeats) + " has a negative entry"};
    type.shape[d] = checked_mul(type.shape[d], repeats[d]);
  }
  return std::vector{type};
}

void expand_tile(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const Dims repeats = std::get<TileAttributes>(node.attributes).repeats;
  expander.define(node.outputs[0], [&expander, x, repeats](const Subscripts& at) {
    Subscripts from;
    const Dims& shape = expander.shape(x);
    for (std::size_t d = 0; d < at.size(); ++d) {
      // A remainder only where elements repeat: elsewhere the subscript stays an iterator.
      const bool moves = repeats[d] != 1 && shape[d] > 1;
      from.push_back(moves ? ir::mod(at[d], shape[d]) : shape[d] == 1 ? ir::Affine(0) : at[d]);
    }
    return expander.read(x, from);
  });
}

}  // namespace polyte::graph
