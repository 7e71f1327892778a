// Chains of reshapes become one: graphs by hand, results those of the graph before.
#include "graph/passes/merge_reshapes.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("a chain of reshapes becomes one") {
  Graph graph;
  ValueId x = graph.add_input("x", f32({4, 6}));
  x = add(graph, "a", OpKind::Reshape, ShapeAttributes{{24}}, {x});
  x = add(graph, "b", OpKind::Reshape, ShapeAttributes{{2, 3, 4}}, {x});
  x = add(graph, "c", OpKind::Reshape, ShapeAttributes{{2, 12}}, {x});
  graph.outputs = {x};
  CHECK(check_pass(graph, merge_reshapes).rewrites == 2);
  CHECK(print(graph) ==
        "graph \n  in    %x: f32[4, 6]\n  %c: f32[2, 12] = Reshape(%x) shape=2x12\n  out   %c\n");
}

TEST_CASE("a reshape that others read stays") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4, 6}));
  const ValueId a = add(graph, "a", OpKind::Reshape, ShapeAttributes{{24}}, {x});
  const ValueId b = add(graph, "b", OpKind::Reshape, ShapeAttributes{{12, 2}}, {a});
  graph.outputs = {a, b};
  CHECK(check_pass(graph, merge_reshapes).rewrites == 1);
  CHECK(operators(graph) == "Reshape Reshape");
}

TEST_CASE("a transpose that moves only dimensions of extent 1 is a reshape") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({8, 1, 5}));
  const ValueId y = add(graph, "y", OpKind::Transpose, TransposeAttributes{{1, 0, 2}}, {x});
  const ValueId z = add(graph, "z", OpKind::Transpose, TransposeAttributes{{2, 1, 0}}, {x});
  graph.outputs = {y, z};
  CHECK(check_pass(graph, merge_reshapes).rewrites == 1);
  CHECK(operators(graph) == "Reshape Transpose");
}

}  // namespace polyte::graph
