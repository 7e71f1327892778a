#include "tests/graph/pass_testing.h"

#include <doctest/doctest.h>

#include <random>

#include "graph/evaluate.h"

namespace polyte::graph::testing {

namespace {

std::vector<Tensor> results(const Graph& graph, int seed) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(random_integers(graph.value(id).type, seed++));
  return evaluate_graph(graph, inputs);
}

std::vector<std::string> interface(const Graph& graph) {
  std::vector<std::string> names;
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (ValueId id : *ids) names.push_back(graph.value(id).name + ": " + to_string(graph.value(id).type));
  }
  return names;
}

}  // namespace

Tensor random_integers(const TensorType& type, int seed, int bound) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<double> elements;
  for (std::int64_t i = 0; i < element_count(type.shape); ++i) {
    elements.push_back(static_cast<double>(random() % static_cast<unsigned>(2 * bound + 1)) - bound);
  }
  return make_tensor(type, elements);
}

PassResult check_pass(Graph& graph, Pass pass) {
  REQUIRE(verify(graph) == std::vector<std::string>{});
  const Graph before = graph;
  const PassResult result = pass(graph);
  REQUIRE(verify(graph) == std::vector<std::string>{});
  CHECK(interface(graph) == interface(before));
  for (int seed = 1; seed <= 3; ++seed) {
    const std::vector<Tensor> expected = results(before, seed);
    const std::vector<Tensor> got = results(graph, seed);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(*got[i].bytes == *expected[i].bytes);
  }
  CHECK(pass(graph).rewrites == 0);  // nothing is left to do
  return result;
}

std::string operators(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + std::string(to_string(node.op));
  return text;
}

ValueId add(Graph& graph, const std::string& name, OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
  return graph.node(graph.add_node(name, op, std::move(attributes), std::move(inputs), {name})).outputs[0];
}

}  // namespace polyte::graph::testing
