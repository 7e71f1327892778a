#include "tests/graph/pass_testing.h"

#include <doctest/doctest.h>

#include "graph/evaluate.h"

namespace polyte::graph::testing {

namespace {

std::vector<Tensor> results(const Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(random_integers(graph.value(id).type, seed++));
  return evaluate_graph(graph, inputs);
}

std::vector<std::string> interface(const Graph& graph) {
  std::vector<std::string> names;
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (ValueId id : *ids)
      names.push_back(graph.value(id).name + ": " + to_string(graph.value(id).type));
  }
  return names;
}

}  // namespace

void check_same_results(const Graph& before, const Graph& after) {
  REQUIRE(verify(after) == std::vector<std::string>{});
  CHECK(interface(after) == interface(before));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Tensor> expected = results(before, seed);
    const std::vector<Tensor> got = results(after, seed);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(*got[i].bytes == *expected[i].bytes);
  }
}

PassResult check_pass(Graph& graph, Pass pass) {
  REQUIRE(verify(graph) == std::vector<std::string>{});
  const Graph before = graph;
  const PassResult result = pass(graph);
  check_same_results(before, graph);
  CHECK(pass(graph).rewrites == 0);  // nothing is left to do
  return result;
}

std::string operators(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    text += (text.empty() ? "" : " ") + std::string(to_string(node.op));
  return text;
}

ValueId add(Graph& graph, const std::string& name, OpKind op, Attributes attributes,
            std::vector<ValueId> inputs) {
  return graph.node(graph.add_node(name, op, std::move(attributes), std::move(inputs), {name}))
      .outputs[0];
}

}  // namespace polyte::graph::testing
