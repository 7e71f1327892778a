// Batch normalisations become a multiplication and an addition where their parameters are
// constants: by hand, results those of the graph before.
#include "graph/passes/simplify_batch_norms.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("a batch normalisation becomes a multiplication and an addition") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 2, 3, 3}));
  const auto constant = [&](const char* name, std::vector<double> elements) {
    return graph.add_constant(name, make_tensor(f32({2}), elements));
  };
  const ValueId y =
      add(graph, "y", OpKind::BatchNormalization, NormAttributes{.epsilon = 0.5, .axis = 0},
          {x, constant("s", {4, -1}), constant("b", {1, -2}), constant("m", {2, -4}),
           constant("v", {3.5, 0.5})});
  graph.outputs = {y};
  CHECK(check_pass(graph, simplify_batch_norms).rewrites == 1);
  CHECK(operators(graph) == "Mul Add");
}

TEST_CASE("a batch normalisation of a vector has one channel") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({5}));
  const auto constant = [&](const char* name, double element) {
    return graph.add_constant(name, make_tensor(f32({1}), {element}));
  };
  const ValueId y =
      add(graph, "y", OpKind::BatchNormalization, NormAttributes{.epsilon = 0.5, .axis = 0},
          {x, constant("s", 4), constant("b", 1), constant("m", 2), constant("v", 3.5)});
  graph.outputs = {y};
  CHECK(check_pass(graph, simplify_batch_norms).rewrites == 1);
  CHECK(operators(graph) == "Mul Add");
}

TEST_CASE("a batch normalisation with parameters known at run time only stays") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 2, 3, 3}));
  const ValueId p = graph.add_input("p", f32({2}));
  const ValueId v = graph.add_constant("v", make_tensor(f32({2}), {1, 2}));
  graph.outputs = {add(graph, "y", OpKind::BatchNormalization, NormAttributes{}, {x, p, p, p, v})};
  CHECK(check_pass(graph, simplify_batch_norms).rewrites == 0);
}

}  // namespace polyte::graph
