// Equal nodes and constants become one: how many, by hand; results those of the graph before.
#include "graph/passes/merge_common_nodes.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("equal nodes and equal constants are merged, transitively") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId c = graph.add_constant("c", make_tensor(f32({3}), {1, 2, 3}));
  const ValueId d = graph.add_constant("d", make_tensor(f32({3}), {1, 2, 3}));
  const ValueId a = add(graph, "a", OpKind::Relu, NoAttributes{},
                        {add(graph, "xc", OpKind::Add, NoAttributes{}, {x, c})});
  const ValueId b = add(graph, "b", OpKind::Relu, NoAttributes{},
                        {add(graph, "xd", OpKind::Add, NoAttributes{}, {x, d})});
  graph.outputs = {add(graph, "y", OpKind::Mul, NoAttributes{}, {a, b})};
  CHECK(check_pass(graph, merge_common_nodes).rewrites == 3);
  CHECK(operators(graph) == "Add Relu Mul");
}

TEST_CASE("nodes that differ in an attribute or the order of operands stay") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId y = graph.add_input("y", f32({2, 3}));
  const ValueId a = add(graph, "a", OpKind::ReduceSum, ReduceAttributes{{0}, true}, {x});
  const ValueId b = add(graph, "b", OpKind::ReduceSum, ReduceAttributes{{1}, true}, {x});
  const ValueId c = add(graph, "c", OpKind::Sub, NoAttributes{}, {x, y});
  const ValueId d = add(graph, "d", OpKind::Sub, NoAttributes{}, {y, x});
  graph.outputs = {a, b, c, d};
  CHECK(check_pass(graph, merge_common_nodes).rewrites == 0);
}

TEST_CASE("two outputs with the same value keep their names") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2}));
  graph.outputs = {add(graph, "y", OpKind::Relu, NoAttributes{}, {x}),
                   add(graph, "z", OpKind::Relu, NoAttributes{}, {x})};
  check_pass(graph, merge_common_nodes);
  CHECK(operators(graph) == "Relu Relu");
}

TEST_CASE("constants of equal bytes but different types stay") {
  Graph graph;
  const ValueId zero = graph.add_constant("zero", make_tensor({DType::F32, {2}}, {0, 0}));
  const ValueId none = graph.add_constant("none", make_tensor({DType::I32, {2}}, {0, 0}));
  graph.outputs = {zero, none};
  CHECK(check_pass(graph, merge_common_nodes).rewrites == 0);
}

}  // namespace polyte::graph
