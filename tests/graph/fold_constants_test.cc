// Constants are computed ahead: by hand, and check_pass holds results to those of the graph before.
#include "graph/passes/fold_constants.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("a tree of constants becomes one constant") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId a = graph.add_constant("a", make_tensor(f32({3, 2}), {1, 2, 3, 4, 5, 6}));
  const ValueId b = graph.add_constant("b", make_tensor(f32({3}), {10, 20, 30}));
  const ValueId t = add(graph, "t", OpKind::Transpose, TransposeAttributes{{1, 0}}, {a});
  const ValueId s = add(graph, "s", OpKind::Mul, NoAttributes{}, {t, b});
  graph.outputs = {add(graph, "y", OpKind::Add, NoAttributes{}, {x, s})};
  CHECK(check_pass(graph, fold_constants).rewrites == 2);
  CHECK(operators(graph) == "Add");
  const Value& folded = graph.value(graph.nodes[0].inputs[1]);
  CHECK(folded.name == "s");
  CHECK(elements_as_real(folded.tensor()) == std::vector<double>{10, 60, 150, 20, 80, 180});
}

TEST_CASE("what is computed from shapes is folded") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::I64, {1}});
  const ValueId shape = graph.add_constant("shape", make_int64s({2, 3, 8, 8}));
  const ValueId last = add(graph, "last", OpKind::Slice, SliceAttributes{{2}, {1}, {2}}, {shape});
  const ValueId count =
      add(graph, "count", OpKind::ReduceProd, ReduceAttributes{{0}, true}, {last});
  graph.outputs = {add(graph, "y", OpKind::Mul, NoAttributes{}, {x, count})};
  CHECK(check_pass(graph, fold_constants).rewrites == 2);
  CHECK(elements_as_int(graph.value(graph.nodes[0].inputs[1]).tensor()) == Dims{64});
}

TEST_CASE("an output may become a constant and keeps its name") {
  Graph graph;
  const ValueId c = graph.add_constant("c", make_tensor(f32({2}), {-1, 2}));
  graph.outputs = {add(graph, "y", OpKind::Relu, NoAttributes{}, {c})};
  CHECK(check_pass(graph, fold_constants).rewrites == 1);
  CHECK(graph.nodes.empty());
  CHECK(elements_as_real(graph.value(graph.outputs[0]).tensor()) == std::vector<double>{0, 2});
}

TEST_CASE("a reshaped constant shares its bytes") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({6}));
  const ValueId c = graph.add_constant("c", make_tensor(f32({2, 3}), {1, 2, 3, 4, 5, 6}));
  const void* bytes = graph.value(c).data->data();
  const ValueId flat = add(graph, "flat", OpKind::Reshape, ShapeAttributes{{6}}, {c});
  graph.outputs = {add(graph, "y", OpKind::Add, NoAttributes{}, {x, flat})};
  check_pass(graph, fold_constants);
  CHECK(graph.value(graph.nodes.at(0).inputs[1]).data->data() == bytes);
}

TEST_CASE("a node that is named stays") {
  Graph graph;
  const ValueId c = graph.add_constant("c", make_tensor(f32({2}), {1, 2}));
  const ValueId one = add(graph, "one", OpKind::Neg, NoAttributes{}, {c});
  graph.outputs = {add(graph, "two", OpKind::Neg, NoAttributes{}, {one})};
  CHECK(fold_constants(graph, {"one"}).rewrites == 0);  // two reads what is no constant then
  CHECK(fold_constants(graph).rewrites == 2);
}

TEST_CASE("a node too large for an interpreter stays, with a note") {
  Graph graph;
  const ValueId c = graph.add_constant("c", make_tensor(f32({1}), {1}));
  graph.outputs = {add(graph, "big", OpKind::Expand, ShapeAttributes{{3000, 2000}}, {c})};
  const PassResult result = fold_constants(graph);
  CHECK(result.rewrites == 0);
  CHECK(result.notes ==
        std::vector<std::string>{
            "node 'big' (Expand) has constant operands, but is too large to be folded"});
}

}  // namespace polyte::graph
