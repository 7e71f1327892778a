// Graph: building, normalising, verifying, printing; and tensors known at compile time.
#include "graph/graph.h"

#include <doctest/doctest.h>

#include <limits>

#include "support/error.h"

using namespace polyte;
using namespace polyte::graph;

namespace {

// y = relu(x + w); z, a sigmoid of x, is needed by nobody.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  const ValueId x = graph.add_input("x", {DType::F32, {2, 3}});
  const ValueId w = graph.add_constant("w", make_tensor({DType::F32, {3}}, {1, 2, 3}));
  graph.add_node("dead", OpKind::Sigmoid, NoAttributes{}, {x}, {"z"});
  const NodeId add = graph.add_node("add", OpKind::Add, NoAttributes{}, {x, w}, {"s"});
  const NodeId relu =
      graph.add_node("relu", OpKind::Relu, NoAttributes{}, {graph.node(add).outputs[0]}, {"y"});
  graph.outputs = {graph.node(relu).outputs[0]};
  return graph;
}

}  // namespace

TEST_CASE("graph: a built graph verifies and prints") {
  const Graph graph = small_graph();
  CHECK(verify(graph).empty());
  CHECK(print(graph) ==
        "graph small\n"
        "  in    %x: f32[2, 3]\n"
        "  const %w: f32[3]\n"
        "  %z: f32[2, 3] = Sigmoid(%x)\n"
        "  %s: f32[2, 3] = Add(%x, %w)\n"
        "  %y: f32[2, 3] = Relu(%s)\n"
        "  out   %y\n");
}

TEST_CASE("graph: names that are taken get a suffix") {
  Graph graph;
  graph.add_input("x", {DType::F32, {1}});
  graph.add_input("x", {DType::F32, {1}});
  graph.add_input("x_1", {DType::F32, {1}});
  CHECK(graph.values[1].name == "x_1");
  CHECK(graph.values[2].name == "x_1_1");
  CHECK(verify(graph).empty());
}

TEST_CASE("graph: normalise drops what nobody needs and sorts") {
  Graph graph = small_graph();
  std::swap(graph.nodes[1], graph.nodes[2]);  // relu before add
  for (Value& value : graph.values) {
    if (value.producer > 0) value.producer = 3 - value.producer;
  }
  CHECK(!verify(graph).empty());
  graph.normalise();
  CHECK(verify(graph).empty());
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].name == "add");
  CHECK(graph.nodes[1].name == "relu");
}

TEST_CASE("graph: operands that do not fit are refused with node, got and expected") {
  Graph graph;
  const ValueId a = graph.add_input("a", {DType::F32, {2, 3}});
  const ValueId b = graph.add_input("b", {DType::F32, {4}});
  CHECK_THROWS_WITH(graph.add_node("n", OpKind::Add, NoAttributes{}, {a, b}, {"c"}),
                    "node 'n' (Add): shapes [2, 3] and [4] do not broadcast");
  CHECK_THROWS_WITH(graph.add_node("m", OpKind::Not, NoAttributes{}, {a}, {"c"}),
                    "node 'm' (Not): input 0 is f32, expected bool or an integer type");
}

TEST_CASE("graph: verify reports every broken rule") {
  Graph graph = small_graph();
  graph.values[0].name = "w";
  graph.nodes[1].name = "relu";
  graph.values[static_cast<std::size_t>(graph.outputs[0])].type.shape = {3, 2};
  CHECK(verify(graph).size() == 3);
}

TEST_CASE("tensor: elements are rounded to the type and read back") {
  const Tensor half = make_tensor({DType::F16, {3}}, {1, 2049, -0.5});
  CHECK(elements_as_real(half) == std::vector<double>{1, 2048, -0.5});
  CHECK(elements_as_int(make_int64s({-1, std::int64_t{1} << 62})) ==
        Dims{-1, std::int64_t{1} << 62});
  CHECK(elements_as_int(make_tensor({DType::U8, {2}}, {255, 3})) == Dims{255, 3});
  CHECK(elements_as_int(make_tensor({DType::Bool, {2}}, {0.5, 0})) == Dims{1, 0});
  CHECK(make_scalar(DType::BF16, 3).bytes->size() == 2);
  // What an integer type does not hold is saturated, as Cast does.
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  CHECK(elements_as_int(make_tensor({DType::I32, {4}}, {1e30, -1e30, -2.5, kNaN})) ==
        Dims{2147483647, -2147483648, -2, 0});
  CHECK(elements_as_int(make_tensor({DType::U64, {3}}, {1e30, -1, 0x1p63})) ==
        Dims{-1, 0, std::numeric_limits<std::int64_t>::min()});
  CHECK(elements_as_int(make_integers({DType::I8, {2, 1}}, {-3, 7})) == Dims{-3, 7});
}
