// Chains of transposes become one: permutations by hand, results those of the graph before.
#include "graph/passes/merge_transposes.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("two transposes become one, which reads the first one's operand") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4}));
  const ValueId a = add(graph, "a", OpKind::Transpose, TransposeAttributes{{1, 2, 0}}, {x});
  const ValueId b = add(graph, "b", OpKind::Transpose, TransposeAttributes{{0, 2, 1}}, {a});
  graph.outputs = {b};
  CHECK(check_pass(graph, merge_transposes).rewrites == 1);
  CHECK(operators(graph) == "Transpose");
  CHECK(std::get<TransposeAttributes>(graph.nodes[0].attributes).perm == Dims{1, 0, 2});
}

TEST_CASE("a pair that undoes itself becomes the identity permutation") {
  Graph graph;
  ValueId x = graph.add_input("x", f32({2, 3, 4, 5}));
  x = add(graph, "a", OpKind::Transpose, TransposeAttributes{{0, 2, 3, 1}}, {x});
  x = add(graph, "b", OpKind::Transpose, TransposeAttributes{{0, 3, 1, 2}}, {x});
  graph.outputs = {x};
  check_pass(graph, merge_transposes);
  CHECK(std::get<TransposeAttributes>(graph.nodes.at(0).attributes).perm == Dims{0, 1, 2, 3});
}

TEST_CASE("a transpose that others read stays") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4}));
  const ValueId a = add(graph, "a", OpKind::Transpose, TransposeAttributes{{1, 2, 0}}, {x});
  const ValueId b = add(graph, "b", OpKind::Transpose, TransposeAttributes{{0, 2, 1}}, {a});
  graph.outputs = {b, a};
  CHECK(check_pass(graph, merge_transposes).rewrites == 1);
  CHECK(operators(graph) == "Transpose Transpose");
}

}  // namespace polyte::graph
