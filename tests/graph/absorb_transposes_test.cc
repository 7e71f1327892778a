// Products that read transposed operands in place: which do, by hand, with the results of before.
#include "graph/passes/absorb_transposes.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

namespace {

// x transposed by the one, y by the other permutation; empty: as it is.
Graph product_of(const Dims& x, const Dims& of_x, const Dims& y, const Dims& of_y) {
  Graph graph;
  ValueId a = graph.add_input("x", f32(x)), b = graph.add_input("y", f32(y));
  if (!of_x.empty()) a = add(graph, "a", OpKind::Transpose, TransposeAttributes{of_x}, {a});
  if (!of_y.empty()) b = add(graph, "b", OpKind::Transpose, TransposeAttributes{of_y}, {b});
  graph.outputs = {add(graph, "c", OpKind::MatMul, NoAttributes{}, {a, b})};
  return graph;
}

EinsumAttributes absorbed(Graph graph) {
  CHECK(check_pass(graph, absorb_transposes).rewrites == 1);
  CHECK(operators(graph) == "Einsum");
  return std::get<EinsumAttributes>(graph.nodes[0].attributes);
}

void check_stays(Graph graph, const std::string& expected) {
  CHECK(check_pass(graph, absorb_transposes).rewrites == 0);
  CHECK(operators(graph) == expected);
}

}  // namespace

TEST_CASE("a product reads transposed operands where they lie") {
  const EinsumAttributes keys = absorbed(product_of({2, 3, 4, 5}, {}, {2, 3, 6, 5}, {0, 1, 3, 2}));
  CHECK(keys.inputs == std::vector<Dims>{{0, 1, 2, 4}, {0, 1, 3, 4}});
  CHECK(keys.output == Dims{0, 1, 2, 3});
  // Heads behind the rows, of both.
  const EinsumAttributes heads =
      absorbed(product_of({2, 4, 3, 5}, {0, 2, 1, 3}, {2, 6, 3, 5}, {0, 2, 3, 1}));
  CHECK(heads.inputs == std::vector<Dims>{{0, 2, 1, 4}, {0, 3, 1, 4}});
  // One matrix for all of a batch, and batches of one.
  CHECK(absorbed(product_of({3, 4, 5}, {}, {6, 5}, {1, 0})).inputs ==
        std::vector<Dims>{{0, 1, 3}, {2, 3}});
  CHECK(absorbed(product_of({1, 5, 4}, {0, 2, 1}, {3, 5, 6}, {})).inputs ==
        std::vector<Dims>{{0, 3, 1}, {0, 3, 2}});
}

TEST_CASE("transposes that a product does not absorb") {
  // Neighbours would be one product apart.
  check_stays(product_of({4, 5, 3}, {2, 0, 1}, {3, 5, 6}, {}), "Transpose MatMul");
  check_stays(product_of({5}, {}, {6, 5}, {1, 0}), "Transpose MatMul");
  Graph read = product_of({4, 5}, {}, {6, 5}, {1, 0});
  read.outputs.push_back(add(read, "d", OpKind::Relu, NoAttributes{}, {read.node(0).outputs[0]}));
  check_stays(read, "Transpose MatMul Relu");
  Graph shown = product_of({4, 5}, {}, {6, 5}, {1, 0});
  shown.outputs.push_back(shown.node(0).outputs[0]);
  check_stays(shown, "Transpose MatMul");
}

TEST_CASE("two products read one transposed operand where it lies") {
  Graph graph = product_of({4, 5}, {}, {6, 5}, {1, 0});
  const ValueId other = graph.add_input("other", f32({7, 5}));
  graph.outputs.push_back(
      add(graph, "d", OpKind::MatMul, NoAttributes{}, {other, graph.node(0).outputs[0]}));
  CHECK(check_pass(graph, absorb_transposes).rewrites == 2);
  CHECK(operators(graph) == "Einsum Einsum");
}

}  // namespace polyte::graph
