// Slice: y[i] = x[start + i * step] in every dimension. The importer has clamped and resolved what
// ONNX gives (frontend/importers/slicing.cc); here it is only checked.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

// How many steps from `start` stay within [0, extent). Step comes from a file: it is compared with
// -extent first, for the least number has no opposite.
std::int64_t steps_within(std::int64_t extent, std::int64_t start, std::int64_t step) {
  if (step > 0) return (extent - 1 - start) / step;
  if (step == 0 || step <= -extent) return 0;
  return start / -step;
}

}  // namespace

Types infer_slice(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const auto& [starts, steps, sizes] = std::get<SliceAttributes>(node.attributes);
  const std::size_t rank = type.shape.size();
  if (starts.size() != rank || steps.size() != rank || sizes.size() != rank) {
    return Decline{"slice has " + std::to_string(starts.size()) + " dimensions, input has rank " +
                   std::to_string(rank)};
  }
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0) continue;
    const bool first_fits = starts[d] >= 0 && starts[d] < type.shape[d];
    const bool moves = sizes[d] > 1;
    const bool last_fits =
        !moves || (first_fits && sizes[d] - 1 <= steps_within(type.shape[d], starts[d], steps[d]));
    if (sizes[d] < 0 || !first_fits || !last_fits) {
      return Decline{"slice of dimension " + std::to_string(d) + " leaves its extent " +
                     std::to_string(type.shape[d])};
    }
  }
  return std::vector{TensorType{type.dtype, sizes}};
}

void expand_slice(Expander& expander, const Node& node) {
  const SliceAttributes slice = std::get<SliceAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  expander.define(node.outputs[0], [&expander, x, slice](const Subscripts& at) {
    Subscripts from;
    for (std::size_t d = 0; d < at.size(); ++d)
      from.push_back(at[d] * slice.steps[d] + ir::Affine(slice.starts[d]));
    return expander.read(x, from);
  });
}

}  // namespace polyte::graph
