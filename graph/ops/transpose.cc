// Transpose: dimension d of the result is dimension perm[d] of the input, which is therefore read
// with subscript perm[d] equal to the result's subscript d.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

Types infer_transpose(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& perm = std::get<TransposeAttributes>(node.attributes).perm;
  std::vector<bool> seen(type.shape.size(), false);
  Dims shape;
  for (std::int64_t d : perm) {
    const bool fits =
        d >= 0 && d < static_cast<std::int64_t>(seen.size()) && !seen[static_cast<std::size_t>(d)];
    if (!fits || perm.size() != seen.size()) {
      return Decline{"perm " + shape_text(perm) + " is not a permutation of " +
                     std::to_string(seen.size()) + " dimensions"};
    }
    seen[static_cast<std::size_t>(d)] = true;
    shape.push_back(type.shape[static_cast<std::size_t>(d)]);
  }
  if (perm.size() != seen.size())
    return Decline{"perm is empty, expected " + std::to_string(seen.size()) + " entries"};
  return std::vector{TensorType{type.dtype, shape}};
}

void expand_transpose(Expander& expander, const Node& node) {
  const Dims perm = std::get<TransposeAttributes>(node.attributes).perm;
  const ValueId x = node.inputs[0];
  expander.define(node.outputs[0], [&expander, x, perm](const Subscripts& at) {
    Subscripts from(at.size());
    for (std::size_t d = 0; d < perm.size(); ++d) from[static_cast<std::size_t>(perm[d])] = at[d];
    return expander.read(x, from);
  });
}

}  // namespace polyte::graph
