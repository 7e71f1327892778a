// STFT in the graph: types, refusals, and frames times a matrix, by hand.
#include <doctest/doctest.h>
#include "graph/evaluate.h"
#include "graph/op.h"

using namespace polyte;
using namespace polyte::graph;

namespace {

// The graph's only output: frames of a signal times a matrix.
Graph framed(const TensorType& signal, const TensorType& matrix, std::int64_t step) {
  Graph graph;
  const ValueId x = graph.add_input("x", signal), m = graph.add_input("m", matrix);
  const NodeId node = graph.add_node("n", OpKind::STFT, StftAttributes{step}, {x, m}, {"y"});
  graph.outputs = graph.node(node).outputs;
  return graph;
}

std::vector<double> values(const Tensor& signal, const Tensor& matrix, std::int64_t step) {
  const Graph graph = framed(signal.type, matrix.type, step);
  return elements_as_real(evaluate_graph(graph, std::vector{signal, matrix})[0]);
}

// The type of the output, or why there is none.
std::string type_of(const TensorType& signal, const TensorType& matrix, std::int64_t step = 1) {
  Graph graph;
  const ValueId x = graph.add_input("x", signal), m = graph.add_input("m", matrix);
  const auto types = infer_types(graph, {"n", OpKind::STFT, StftAttributes{step}, {x, m}, {}});
  return types ? to_string((*types)[0]) : types.error().reason;
}

}  // namespace

TEST_CASE("STFT: as many frames as fit, the last samples may be in none") {
  CHECK(type_of({DType::F32, {3, 10, 1}}, {DType::F32, {4, 1, 6}}, 3) == "f32[3, 3, 6]");
  CHECK(type_of({DType::F32, {3, 9, 1}}, {DType::F32, {4, 1, 6}}, 3) == "f32[3, 2, 6]");
  CHECK(type_of({DType::F64, {3, 4, 2}}, {DType::F64, {4, 2, 8}}, 9) == "f64[3, 1, 8]");
  CHECK(type_of({DType::BF16, {1, 4, 1}}, {DType::F32, {1, 1, 2}}) == "bf16[1, 4, 2]");
  CHECK(print(framed({DType::F32, {1, 4, 1}}, {DType::F32, {2, 1, 4}}, 2))
            .find("STFT(%x, %m) frame_step=2") != std::string::npos);
}

TEST_CASE("STFT: what does not fit is refused") {
  const TensorType signal{DType::F32, {1, 10, 1}}, matrix{DType::F32, {4, 1, 6}};
  CHECK(type_of(signal, matrix, 0) == "frame_step is 0, expected at least 1");
  CHECK(type_of({DType::I32, {1, 10, 1}}, matrix) ==
        "input 0 is i32, expected a floating-point type");
  CHECK(type_of({DType::F32, {1, 10}}, matrix) == "cannot multiply frames of [1, 10] by [4, 1, 6]");
  CHECK(type_of(signal, {DType::F32, {4, 6}}) == "cannot multiply frames of [1, 10, 1] by [4, 6]");
  CHECK(type_of(signal, {DType::F32, {4, 2, 6}}) ==
        "cannot multiply frames of [1, 10, 1] by [4, 2, 6]");
  CHECK(type_of(signal, {DType::F64, {4, 1, 6}}) ==
        "input 1 is f64, expected f32, in which frames of f32 are summed");
  CHECK(type_of({DType::F16, {1, 10, 1}}, {DType::F16, {4, 1, 6}}) ==
        "input 1 is f16, expected f32, in which frames of f16 are summed");
  CHECK(type_of(signal, {DType::F32, {11, 1, 6}}) ==
        "a frame has 11 samples, expected 1 to 10, as many as the signal has");
  CHECK(type_of(signal, {DType::F32, {0, 1, 6}}) ==
        "a frame has 0 samples, expected 1 to 10, as many as the signal has");
}

TEST_CASE("STFT: overlapping frames of a real signal") {
  const Tensor signal = make_tensor({DType::F32, {1, 6, 1}}, {1, 2, 3, 4, 5, 6}),
               matrix = make_tensor({DType::F32, {3, 1, 2}}, {1, 1, 10, 1, 100, 2});
  CHECK(values(signal, matrix, 2) == std::vector<double>{321, 9, 543, 17});
}

TEST_CASE("STFT: the two points of frames of complex signals") {
  // 1+2i 3+4i 5+6i, and 7+8i 9+10i 11+12i: sums and differences of neighbours.
  const Tensor signal =
                   make_tensor({DType::F64, {2, 3, 2}}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
               matrix = make_tensor({DType::F64, {2, 2, 4}},
                                    {1, 0, 1, 0, 0, 1, 0, 1, 1, 0, -1, 0, 0, 1, 0, -1});
  CHECK(values(signal, matrix, 1) == std::vector<double>{4, 6, -2, -2, 8, 10, -2, -2,  //
                                                         16, 18, -2, -2, 20, 22, -2, -2});
}

TEST_CASE("STFT: short floats are summed in f32 and rounded once") {
  const Tensor signal = make_tensor({DType::F16, {1, 3, 1}}, {2048, 1, 1}),
               matrix = make_tensor({DType::F32, {3, 1, 1}}, {1, 1, 1});
  CHECK(values(signal, matrix, 1) == std::vector<double>{2050});
}
