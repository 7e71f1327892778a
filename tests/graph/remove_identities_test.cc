// Every kind of node that copies its operand goes, and what only looks like one stays: by hand,
// results those of the graph before.
#include "graph/passes/remove_identities.h"

#include <doctest/doctest.h>

#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

TEST_CASE("every kind of identity goes") {
  Graph graph;
  ValueId x = graph.add_input("x", f32({2, 3, 4}));
  x = add(graph, "a", OpKind::Identity, NoAttributes{}, {x});
  x = add(graph, "b", OpKind::Reshape, ShapeAttributes{{2, 3, 4}}, {x});
  x = add(graph, "c", OpKind::Transpose, TransposeAttributes{{0, 1, 2}}, {x});
  x = add(graph, "d", OpKind::Cast, CastAttributes{DType::F32}, {x});
  x = add(graph, "e", OpKind::Slice, SliceAttributes{{0, 0, 0}, {1, 1, 1}, {2, 3, 4}}, {x});
  x = add(graph, "f", OpKind::Pad, PadAttributes{{0, 0, 0}, {0, 0, 0}, PadMode::Constant},
          {x, kNoValue});
  x = add(graph, "g", OpKind::Tile, TileAttributes{{1, 1, 1}}, {x});
  x = add(graph, "h", OpKind::Expand, ShapeAttributes{{2, 3, 4}}, {x});
  x = add(graph, "i", OpKind::Concat, AxisAttributes{0}, {x});
  x = add(graph, "y", OpKind::Relu, NoAttributes{}, {x});
  graph.outputs = {x};
  CHECK(check_pass(graph, remove_identities).rewrites == 9);
  CHECK(operators(graph) == "Relu");
}

TEST_CASE("nodes that only look like identities stay") {
  Graph graph;
  ValueId x = graph.add_input("x", f32({3, 3}));
  x = add(graph, "t", OpKind::Transpose, TransposeAttributes{{1, 0}}, {x});
  x = add(graph, "r", OpKind::Slice, SliceAttributes{{2, 0}, {-1, 1}, {3, 3}}, {x});
  x = add(graph, "p", OpKind::Pad, PadAttributes{{1, 0}, {-1, 0}, PadMode::Constant},
          {x, kNoValue});
  graph.outputs = {x};
  CHECK(check_pass(graph, remove_identities).rewrites == 0);
  CHECK(operators(graph) == "Transpose Slice Pad");
}

TEST_CASE("an output keeps its name, and a copy of an input stays a copy") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  const ValueId relu = add(graph, "relu", OpKind::Relu, NoAttributes{}, {x});
  const ValueId y = add(graph, "y", OpKind::Identity, NoAttributes{}, {relu});
  const ValueId z = add(graph, "z", OpKind::Identity, NoAttributes{}, {relu});
  const ValueId copy = add(graph, "copy", OpKind::Identity, NoAttributes{}, {x});
  graph.outputs = {y, z, copy};
  CHECK(check_pass(graph, remove_identities).rewrites == 1);
  CHECK(operators(graph) == "Relu Identity Identity");
}

}  // namespace polyte::graph
