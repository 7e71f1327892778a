// What shape inference of several operators needs: broadcasting, and saying no in a few words.
#pragma once

#include <optional>
#include <string>

#include "graph/op.h"

namespace polyte::graph {

inline constexpr DType kFloats[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

// "input 1 has rank 3, expected 4" and the like; null if all is well.
using Complaint = std::optional<Decline>;

// The first `least` are there.
Complaint expect_inputs(const Node& node, std::size_t least, std::size_t most);
Complaint expect_float(const Graph& graph, const Node& node, std::size_t input);
// Anything but Bool.
Complaint expect_number(const Graph& graph, const Node& node, std::size_t input);
Complaint expect_same_types(const Graph& graph, const Node& node);  // of all present inputs
Complaint expect_rank_at_least(const Graph& graph, const Node& node, std::size_t input,
                               std::size_t rank);
Complaint expect_shape(const Graph& graph, const Node& node, std::size_t input, const Dims& shape);
Complaint expect_axis(std::int64_t axis, std::size_t rank);

// NumPy's rule; nullopt where the shapes do not broadcast.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
std::string shape_text(const Dims& shape);  // "[2, 3]"

inline const TensorType& input_type(const Graph& graph, const Node& node, std::size_t i) {
  return graph.value(node.inputs.at(i)).type;
}
inline bool has_input(const Node& node, std::size_t i) {
  return i < node.inputs.size() && node.inputs[i] != kNoValue;
}

}  // namespace polyte::graph
