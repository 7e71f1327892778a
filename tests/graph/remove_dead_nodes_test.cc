// Nodes that no output needs go: a graph by hand, results those of the graph before.
#include "graph/passes/remove_dead_nodes.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("what no output needs goes, but inputs stay") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2}));
  graph.add_input("unused", f32({3}));
  graph.add_constant("unread", make_tensor(f32({2}), {1, 2}));
  const ValueId dead = add(graph, "dead", OpKind::Relu, NoAttributes{}, {x});
  add(graph, "deader", OpKind::Neg, NoAttributes{}, {dead});
  graph.outputs = {add(graph, "y", OpKind::Neg, NoAttributes{}, {x})};
  CHECK(check_pass(graph, remove_dead_nodes).rewrites == 2);
  CHECK(
      print(graph) ==
      "graph \n  in    %x: f32[2]\n  in    %unused: f32[3]\n  %y: f32[2] = Neg(%x)\n  out   %y\n");
}

}  // namespace polyte::graph
