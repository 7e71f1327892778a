// Scales and shifts fold into weights and biases: which of them, by hand; results bit for bit those
// of the graph before, on whole numbers.
#include "graph/passes/fold_scales.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

namespace {

ValueId constant(Graph& graph, const std::string& name, Dims shape, std::uint64_t seed = 7) {
  return graph.add_constant(name, random_integers(f32(std::move(shape)), seed));
}

ValueId numbers(Graph& graph, const std::string& name, Dims shape,
                const std::vector<double>& elements) {
  return graph.add_constant(name, make_tensor(f32(std::move(shape)), elements));
}

// Scales of 2, 1 and -1/2: powers of two, so that folding is exact. Variance plus epsilon is
// 4, 1, 4.
ValueId batch_norm(Graph& graph, ValueId x) {
  const ValueId scale = numbers(graph, "bn.scale", {3}, {4, 1, -1});
  const ValueId bias = numbers(graph, "bn.bias", {3}, {1, -2, 3});
  const ValueId mean = numbers(graph, "bn.mean", {3}, {2, -4, 6});
  const ValueId variance = numbers(graph, "bn.variance", {3}, {3.5, 0.5, 3.5});
  return add(graph, "bn", OpKind::BatchNormalization, NormAttributes{.epsilon = 0.5, .axis = 0},
             {x, scale, bias, mean, variance});
}

}  // namespace

TEST_CASE("a batch normalisation folds into a convolution with and without bias") {
  for (const bool has_bias : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({2, 4, 5, 6}));
    const ValueId bias = has_bias ? constant(graph, "b", {3}) : kNoValue;
    const ValueId y =
        add(graph, "conv", OpKind::Conv, conv_3x3(), {x, constant(graph, "w", {3, 4, 3, 3}), bias});
    graph.outputs = {add(graph, "relu", OpKind::Relu, NoAttributes{}, {batch_norm(graph, y)})};
    CHECK(check_pass(graph, fold_scales).rewrites == 1);
    CHECK(operators(graph) == "Conv Relu");
    CHECK(graph.nodes[0].folded == std::vector<std::string>{"BatchNormalization"});
  }
}

TEST_CASE("a grouped and a transposed convolution scale the right weights") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 4, 4}));
  const ValueId scale = numbers(graph, "scale", {4, 1, 1}, {1, 2, 4, 8});
  const ValueId conv = add(graph, "conv", OpKind::Conv, conv_3x3(2),
                           {x, constant(graph, "w", {4, 1, 3, 3}), kNoValue});
  const ValueId a = add(graph, "a", OpKind::Mul, NoAttributes{}, {scale, conv});
  const ValueId transposed = add(
      graph, "transposed", OpKind::ConvTranspose,
      ConvAttributes{
          .window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, .group = 2, .output_padding = {0, 0}},
      {x, constant(graph, "v", {2, 2, 3, 3}), kNoValue});
  const ValueId b = add(graph, "b", OpKind::Mul, NoAttributes{}, {transposed, scale});
  graph.outputs = {a, b};
  CHECK(check_pass(graph, fold_scales).rewrites == 2);
  CHECK(operators(graph) == "Conv ConvTranspose");
}

TEST_CASE("a chain of additions, subtractions, scales and divisions folds into a Gemm") {
  for (const bool trans_b : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({2, 5}));
    const ValueId w = constant(graph, "w", trans_b ? Dims{3, 5} : Dims{5, 3});
    const ValueId c = constant(graph, "c", {1, 3});
    ValueId y =
        add(graph, "gemm", OpKind::Gemm,
            GemmAttributes{.alpha = 2, .beta = 4, .trans_a = false, .trans_b = trans_b}, {x, w, c});
    y = add(graph, "add", OpKind::Add, NoAttributes{}, {numbers(graph, "k", {3}, {1, 2, 3}), y});
    y = add(graph, "sub", OpKind::Sub, NoAttributes{}, {numbers(graph, "l", {}, {5}), y});
    y = add(graph, "mul", OpKind::Mul, NoAttributes{},
            {y, numbers(graph, "m", {1, 3}, {2, -1, 4})});
    y = add(graph, "div", OpKind::Div, NoAttributes{}, {y, numbers(graph, "n", {1}, {8})});
    graph.outputs = {batch_norm(graph, y)};
    CHECK(check_pass(graph, fold_scales).rewrites == 5);
    CHECK(operators(graph) == "Gemm");
  }
}

TEST_CASE("a MatMul takes scales, but no shifts, for it has no bias") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 4, 5}));
  ValueId y =
      add(graph, "matmul", OpKind::MatMul, NoAttributes{}, {x, constant(graph, "w", {5, 3})});
  y = add(graph, "mul", OpKind::Mul, NoAttributes{}, {y, numbers(graph, "m", {3}, {2, 4, 8})});
  graph.outputs = {
      add(graph, "add", OpKind::Add, NoAttributes{}, {y, numbers(graph, "k", {3}, {1, 2, 3})})};
  CHECK(check_pass(graph, fold_scales).rewrites == 1);
  CHECK(operators(graph) == "MatMul Add");
}

TEST_CASE("nothing folds where the convolution has another reader or is an output") {
  for (const bool is_output : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({1, 4, 5, 5}));
    const ValueId conv = add(graph, "conv", OpKind::Conv, conv_3x3(),
                             {x, constant(graph, "w", {3, 4, 3, 3}), kNoValue});
    graph.outputs = {add(graph, "end", OpKind::Abs, NoAttributes{}, {batch_norm(graph, conv)})};
    graph.outputs.push_back(is_output ? conv
                                      : add(graph, "relu", OpKind::Relu, NoAttributes{}, {conv}));
    CHECK(check_pass(graph, fold_scales).rewrites == 0);
  }
}

TEST_CASE("a folded value that is an output ends the chain") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 5, 5}));
  const ValueId conv = add(graph, "conv", OpKind::Conv, conv_3x3(),
                           {x, constant(graph, "w", {3, 4, 3, 3}), kNoValue});
  const ValueId normal = batch_norm(graph, conv);
  const ValueId sum =
      add(graph, "sum", OpKind::Add, NoAttributes{}, {normal, numbers(graph, "k", {}, {3})});
  graph.outputs = {normal, add(graph, "y", OpKind::Relu, NoAttributes{}, {sum})};
  CHECK(check_pass(graph, fold_scales).rewrites == 1);
  CHECK(operators(graph) == "Conv Add Relu");
}

TEST_CASE("a constant that varies within a channel, or widens the result, does not fold") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 5, 5}));
  const ValueId w = constant(graph, "w", {3, 4, 3, 3});
  const ValueId a = add(graph, "a", OpKind::Conv, conv_3x3(), {x, w, kNoValue});
  const ValueId b = add(graph, "b", OpKind::Conv, conv_3x3(), {x, w, kNoValue});
  graph.outputs = {
      add(graph, "row", OpKind::Mul, NoAttributes{}, {a, constant(graph, "k", {5})}),
      add(graph, "batch", OpKind::Add, NoAttributes{}, {b, constant(graph, "l", {2, 1, 1, 1})})};
  CHECK(check_pass(graph, fold_scales).rewrites == 0);
}

}  // namespace polyte::graph
