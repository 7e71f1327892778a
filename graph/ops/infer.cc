#include "graph/ops/infer.h"

#include <algorithm>

namespace polyte::graph {

std::string shape_text(const Dims& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

namespace {

Decline complain(std::size_t input, const std::string& got, const std::string& expected) {
  return {"input " + std::to_string(input) + " " + got + ", expected " + expected};
}

}  // namespace

Complaint expect_inputs(const Node& node, std::size_t least, std::size_t most) {
  const std::size_t count = node.inputs.size();
  if (count < least || count > most) {
    const std::string expected = least == most
                                     ? std::to_string(least)
                                     : std::to_string(least) + " to " + std::to_string(most);
    return Decline{"got " + std::to_string(count) + " inputs, expected " + expected};
  }
  for (std::size_t i = 0; i < least; ++i) {
    if (!has_input(node, i)) return Decline{"input " + std::to_string(i) + " is missing"};
  }
  return std::nullopt;
}

Complaint expect_float(const Graph& graph, const Node& node, std::size_t input) {
  const DType type = input_type(graph, node, input).dtype;
  if (is_float(type)) return std::nullopt;
  return complain(input, "is " + std::string(polyte::to_string(type)), "a floating-point type");
}

Complaint expect_number(const Graph& graph, const Node& node, std::size_t input) {
  if (input_type(graph, node, input).dtype != DType::Bool) return std::nullopt;
  return complain(input, "is bool", "a number type");
}

Complaint expect_same_types(const Graph& graph, const Node& node) {
  const DType first = input_type(graph, node, 0).dtype;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) continue;
    const DType type = input_type(graph, node, i).dtype;
    if (type != first) {
      return complain(i, "is " + std::string(polyte::to_string(type)),
                      std::string(polyte::to_string(first)) + " like input 0");
    }
  }
  return std::nullopt;
}

Complaint expect_rank_at_least(const Graph& graph, const Node& node, std::size_t input,
                               std::size_t rank) {
  const std::size_t got = input_type(graph, node, input).shape.size();
  if (got >= rank) return std::nullopt;
  return complain(input, "has rank " + std::to_string(got), "at least " + std::to_string(rank));
}

Complaint expect_shape(const Graph& graph, const Node& node, std::size_t input, const Dims& shape) {
  const Dims& got = input_type(graph, node, input).shape;
  if (got == shape) return std::nullopt;
  return complain(input, "has shape " + shape_text(got), shape_text(shape));
}

Complaint expect_axis(std::int64_t axis, std::size_t rank) {
  if (axis >= 0 && axis < static_cast<std::int64_t>(rank)) return std::nullopt;
  return Decline{"axis " + std::to_string(axis) + " is out of range for rank " +
                 std::to_string(rank)};
}

// Aligned at the last dimension: [8, 1, 6] and [7, 6] give [8, 7, 6]. An extent of 0 stays, beside
// a 1 too.
std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace polyte::graph
