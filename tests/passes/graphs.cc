#include "tests/passes/graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "tests/graph/pass_testing.h"

namespace polyte::testing {

namespace {

using graph::Dims;
using graph::Graph;
using graph::NoAttributes;
using graph::OpKind;
using graph::ValueId;
using graph::testing::add;
using graph::testing::f32;

ValueId numbers(Graph& graph, const std::string& name, Dims shape,
                const std::vector<double>& elements) {
  return graph.add_constant(name, graph::make_tensor(f32(std::move(shape)), elements));
}

ValueId filled(Graph& graph, const std::string& name, Dims shape) {
  return graph.add_constant(name, graph::random_integers(f32(std::move(shape)), 7, 2));
}

ValueId relu(Graph& graph, const std::string& name, ValueId x) {
  return add(graph, name, OpKind::Relu, NoAttributes{}, {x});
}

ValueId binary(Graph& graph, const std::string& name, OpKind op, ValueId a, ValueId b) {
  return add(graph, name, op, NoAttributes{}, {a, b});
}

ValueId transpose(Graph& graph, const std::string& name, ValueId x, Dims perm) {
  return add(graph, name, OpKind::Transpose, graph::TransposeAttributes{std::move(perm)}, {x});
}

ValueId reshape(Graph& graph, const std::string& name, ValueId x, Dims shape) {
  return add(graph, name, OpKind::Reshape, graph::ShapeAttributes{std::move(shape)}, {x});
}

ValueId convolution(Graph& graph, const std::string& name, ValueId x, ValueId w, std::int64_t pad,
                    std::int64_t group = 1) {
  const std::int64_t kernel = graph.value(w).type.shape[2];
  const graph::Window window{{kernel, kernel}, {1, 1}, {1, 1}, {pad, pad}, {pad, pad}};
  return add(graph, name, OpKind::Conv,
             graph::ConvAttributes{.window = window, .group = group, .output_padding = {}},
             {x, w, graph::kNoValue});
}

// Variance plus epsilon is 4 and 1: the scales are 2 and -3, exactly.
ValueId batch_norm(Graph& graph, const std::string& name, ValueId x) {
  return add(graph, name, OpKind::BatchNormalization,
             graph::NormAttributes{.epsilon = 0.5, .axis = 0},
             {x, numbers(graph, "scale", {2}, {4, -3}), numbers(graph, "bias", {2}, {1, 5}),
              numbers(graph, "mean", {2}, {3, -1}), numbers(graph, "variance", {2}, {3.5, 0.5})});
}

Graph nodes_nobody_reads() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4})), unused = graph.add_input("unused", f32({4}));
  const ValueId dead =
      binary(graph, "dead", OpKind::Add, unused, numbers(graph, "k", {4}, {1, 2, 3, 4}));
  relu(graph, "dead_too", dead);
  graph.outputs = {relu(graph, "y", x)};
  return graph;
}

Graph sums_of_constants() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({3}));
  const ValueId a = numbers(graph, "a", {3}, {1, 2, 3}), b = numbers(graph, "b", {3}, {10, 20, 30});
  const ValueId sum = binary(graph, "sum", OpKind::Add, a, b);
  const ValueId doubled = binary(graph, "doubled", OpKind::Add, sum, sum);
  graph.outputs = {binary(graph, "y", OpKind::Mul, x, doubled)};
  return graph;
}

Graph keys_of_attention() {
  Graph graph;
  const ValueId q = graph.add_input("q", f32({2, 3, 4, 5})),
                k = graph.add_input("k", f32({2, 6, 3, 5}));
  const ValueId turned = transpose(graph, "turned", k, {0, 2, 3, 1});
  graph.outputs = {binary(graph, "y", OpKind::MatMul, q, turned)};
  return graph;
}

Graph transposes_in_a_row() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4, 5}));
  const ValueId inner = transpose(graph, "inner", x, {0, 2, 3, 1});
  graph.outputs = {transpose(graph, "y", inner, {0, 1, 3, 2})};
  return graph;
}

Graph transpose_with_another_reader() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4}));
  const ValueId inner = transpose(graph, "inner", x, {2, 0, 1});
  graph.outputs = {transpose(graph, "y", inner, {1, 0, 2}), relu(graph, "z", inner)};
  return graph;
}

Graph reshapes_in_a_row() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4, 6}));
  const ValueId inner = reshape(graph, "inner", x, {2, 2, 6});
  graph.outputs = {reshape(graph, "y", inner, {2, 12})};
  return graph;
}

Graph transpose_of_a_dimension_of_one() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({8, 1, 5}));
  graph.outputs = {transpose(graph, "y", x, {1, 0, 2}), transpose(graph, "z", x, {2, 1, 0})};
  return graph;
}

Graph identities() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId same = add(graph, "same", OpKind::Identity, NoAttributes{}, {x});
  const ValueId shape = reshape(graph, "shape", same, {2, 3});
  graph.outputs = {relu(graph, "y", transpose(graph, "order", shape, {0, 1}))};
  return graph;
}

Graph copy_of_an_input() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  graph.outputs = {add(graph, "y", OpKind::Identity, NoAttributes{}, {x})};
  return graph;
}

Graph convolution_and_batch_norm() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 4, 4}));
  const ValueId w = numbers(graph, "w", {2, 2, 1, 1}, {1, 2, 3, 4});
  graph.outputs = {relu(graph, "y", batch_norm(graph, "bn", convolution(graph, "conv", x, w, 0)))};
  return graph;
}

Graph product_with_another_reader() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId product =
      binary(graph, "product", OpKind::MatMul, x, numbers(graph, "w", {3, 2}, {1, 2, 3, 4, 5, 6}));
  const ValueId scaled =
      binary(graph, "scaled", OpKind::Mul, product, numbers(graph, "k", {2}, {2, 8}));
  graph.outputs = {scaled, relu(graph, "z", product)};
  return graph;
}

Graph lone_batch_norm() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 3, 3}));
  graph.outputs = {batch_norm(graph, "y", relu(graph, "r", x))};
  return graph;
}

Graph two_convolutions() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 3, 6, 6}));
  const ValueId first = convolution(graph, "first", x, filled(graph, "w1", {8, 3, 3, 3}), 1);
  graph.outputs = {
      convolution(graph, "y", relu(graph, "r", first), filled(graph, "w2", {8, 8, 1, 1}), 0)};
  return graph;
}

Graph convolution_in_blocks() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 1, 4, 6, 2}));
  graph::ConvAttributes conv{
      .window = {{1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}}, .group = 1, .output_padding = {}};
  conv.input_block = conv.output_block = 2;
  const ValueId w = numbers(graph, "w", {1, 2, 1, 3, 2}, {1, 2, 4, 6, 3, -4, 0, 2, 2, 0, 2, 2});
  graph.outputs = {add(graph, "y", OpKind::Conv, conv, {x, w, graph::kNoValue})};
  return graph;
}

// The region begins with a convolution that reads plain channels and ends with the pool:
// it needs no reorder.
Graph depthwise_convolution(std::int64_t size) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 3, size, size}));
  const ValueId first = convolution(graph, "first", x, filled(graph, "w1", {16, 3, 1, 1}), 0);
  const ValueId depthwise =
      convolution(graph, "depthwise", first, filled(graph, "w2", {16, 1, 3, 3}), 1, 16);
  graph.outputs = {add(graph, "y", OpKind::GlobalMaxPool, NoAttributes{}, {depthwise})};
  return graph;
}

Graph branches_that_are_equal() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2}));
  const ValueId k = numbers(graph, "k", {2}, {1, 2}), l = numbers(graph, "l", {2}, {1, 2});
  const ValueId a = relu(graph, "a", binary(graph, "xk", OpKind::Add, x, k));
  const ValueId b = relu(graph, "b", binary(graph, "xl", OpKind::Add, x, l));
  graph.outputs = {binary(graph, "y", OpKind::Mul, a, b)};
  return graph;
}

Graph equal_outputs() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2}));
  graph.outputs = {relu(graph, "y", x), relu(graph, "z", x)};
  return graph;
}

Graph long_scan() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 5000}));
  graph.outputs = {add(graph, "y", OpKind::CumSum, graph::CumSumAttributes{1, true, true}, {x})};
  return graph;
}

// Two steps, backwards, of sequences that may end before.
Graph gated_units() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F64, {2, 2, 3}});
  const ValueId weight =
      graph.add_constant("weight", graph::make_tensor({DType::F64, {1, 3}}, {1, -1, 2}));
  const ValueId before = graph.add_input("before", {DType::F64, {2, 1}});
  const ValueId lengths = graph.add_constant("lengths", graph::make_int64s({2, 1}));
  const graph::RecurrenceAttributes attributes{
      .cell = graph::Cell::Gru,
      .backwards = true,
      .activations = {{OpKind::Relu}, {OpKind::LeakyRelu, 0.5, 0}}};
  const graph::NodeId node =
      graph.add_node("units", OpKind::Recurrence, attributes,
                     {x, weight, before, graph::kNoValue, lengths}, {"y", "last"});
  graph.outputs = graph.node(node).outputs;
  return graph;
}

struct NamedGraph {
  const char* name;
  Graph (*make)();
};

constexpr NamedGraph kGraphs[] = {
    {"nodes nobody reads", nodes_nobody_reads},
    {"sums of constants", sums_of_constants},
    {"keys of an attention", keys_of_attention},
    {"transposes in a row", transposes_in_a_row},
    {"transpose with another reader", transpose_with_another_reader},
    {"reshapes in a row", reshapes_in_a_row},
    {"transpose of a dimension of one", transpose_of_a_dimension_of_one},
    {"identities", identities},
    {"copy of an input", copy_of_an_input},
    {"convolution and batch norm", convolution_and_batch_norm},
    {"product with another reader", product_with_another_reader},
    {"lone batch norm", lone_batch_norm},
    {"two convolutions", two_convolutions},
    {"convolution in blocks", convolution_in_blocks},
    {"small depthwise convolution", [] { return depthwise_convolution(16); }},
    {"large depthwise convolution", [] { return depthwise_convolution(48); }},
    {"branches that are equal", branches_that_are_equal},
    {"equal outputs", equal_outputs},
    {"long scan", long_scan},
    {"gated units", gated_units},
};

}  // namespace

Graph graph_named(const std::string& name) {
  const auto* found =
      std::ranges::find_if(kGraphs, [&](const NamedGraph& graph) { return name == graph.name; });
  REQUIRE_MESSAGE(found != std::end(kGraphs), name);
  Graph graph = found->make();
  graph.name = "g";
  return graph;
}

}  // namespace polyte::testing
