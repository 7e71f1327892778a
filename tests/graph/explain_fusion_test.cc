// The text that explains groups, line by line, and a sentence for each verdict of the rules.
#include "graph/explain_fusion.h"

#include <doctest/doctest.h>

namespace polyte::graph {

namespace {

using enum OpPattern;

FusionNode node(const std::string& op, const std::string& name, OpPattern pattern) {
  return {.op = op,
          .name = name,
          .pattern = pattern,
          .is_tuple_get = false,
          .external = false,
          .folded = {}};
}

}  // namespace

TEST_CASE("a residual block explains itself") {
  FusionGraph graph;
  graph.nodes = {
      node("MaxPool", "pool", OutEWiseFusable), node("Conv", "layer2.0.conv1", OutEWiseFusable),
      node("Relu", "layer2.0.relu1", ElemWise), node("Conv", "layer2.0.conv2", OutEWiseFusable),
      node("Add", "layer2.0.add", ElemWise),    node("Relu", "layer2.0.relu2", ElemWise),
      node("Transpose", "to_nhwc", Injective)};
  graph.nodes[1].folded = {"BatchNormalization"};
  graph.nodes[6].external = true;
  graph.edges = {{0, 1, OutEWiseFusable}, {1, 2, ElemWise}, {2, 3, OutEWiseFusable},
                 {3, 4, ElemWise},        {0, 4, ElemWise}, {4, 5, ElemWise},
                 {5, 6, Injective}};
  CHECK(
      explain_fusion(graph, {}, fuse(graph)) ==
      "group 0   MaxPool 'pool'\n"
      "group 1   Conv 'layer2.0.conv1' + BatchNormalization (folded) + Relu\n  "
      "Conv -> Relu           fused: phase 0, Relu post-dominates Conv, the path is element-wise\n"
      "  MaxPool -> Conv        not fused: Conv is OutEWiseFusable (rule: an OutEWiseFusable "
      "source needs an element-wise path)\ngroup 2   Conv 'layer2.0.conv2' + Add + Relu\n"
      "  Conv -> Add            fused: phase 0, Add post-dominates Conv, the path is element-wise; "
      "the other operand is an input of the group\n"
      "  Add -> Relu            fused: phase 0, Relu post-dominates Add, the path is element-wise\n"
      "  Relu 'layer2.0.relu1' -> Conv  not "
      "fused: Conv is OutEWiseFusable (rule: an OutEWiseFusable source needs an element-wise path; "
      "by its group, Relu 'layer2.0.relu1' is one)\n"
      "  MaxPool -> Add         not fused: on the way to Add, Conv 'layer2.0.conv1' "
      "is OutEWiseFusable (rule: an OutEWiseFusable source needs an element-wise path)\n"
      "group 3   Transpose 'to_nhwc'\n  Relu -> Transpose      not fused: Transpose is Injective "
      "(rule: an OutEWiseFusable source needs an element-wise path; by its group, Relu is one)\n");
}

TEST_CASE("every verdict has its words") {
  const auto words = [](std::vector<FusionNode> nodes, std::vector<FusionEdge> edges,
                        const FusionOptions& options) {
    const FusionGraph graph = {.nodes = std::move(nodes), .edges = std::move(edges)};
    return explain_edge(graph, options, fuse(graph, options).edges.at(0));
  };
  const FusionNode relu = node("Relu", "r", ElemWise);
  const FusionNode tanh = node("Tanh", "t", ElemWise);
  const FusionNode sum = node("ReduceSum", "s", CommReduce);
  const FusionNode conv = node("Conv", "c", OutEWiseFusable);
  const FusionNode transpose = node("Transpose", "p", Injective);
  const FusionNode tuple = node("Tuple", "u", Tuple);
  const FusionNode sort = node("TopK", "k", Opaque);
  FusionNode output = relu;
  output.external = true;

  CHECK(words({relu, sum}, {{0, 1, CommReduce}}, {}) ==
        "fused: phase 0, ReduceSum post-dominates Relu, the path ends in a reduction");
  CHECK(words({transpose, tanh}, {{0, 1, ElemWise}}, {}) ==
        "fused: phase 1, Tanh post-dominates Transpose, the path is element-wise");
  CHECK(words({relu, tanh}, {{0, 1, ElemWise}}, {.enabled = false, .keep_apart = {}}) ==
        "not fused: fusion is switched off");
  CHECK(words({sort, relu}, {{0, 1, ElemWise}}, {}) ==
        "not fused: TopK is Opaque (rule: an opaque operator is never a source)");
  CHECK(words({sum, relu}, {{0, 1, ElemWise}}, {}) ==
        "not fused: ReduceSum is a reduction (rule: a reduction never joins its consumers)");
  CHECK(words({output, tanh}, {{0, 1, ElemWise}}, {}) ==
        "not fused: the value of Relu leaves the graph");
  CHECK(words({relu, tanh, conv}, {{0, 1, ElemWise}, {0, 2, OutEWiseFusable}}, {}) ==
        "not fused: no operator post-dominates Relu: its consumers never meet");
  CHECK(words({relu, tanh}, {{0, 1, ElemWise}}, {.max_group_nodes = 1, .keep_apart = {}}) ==
        "not fused: the group would pass 1 operators");
  CHECK(words({conv, tuple}, {{0, 1, Injective}}, {}) ==
        "not fused: a tuple takes only injective sources");
  CHECK(words({relu, tuple}, {{0, 1, Injective}}, {}) ==
        "not fused: the group of Tuple is Tuple (rule: a tuple takes a source only after it was "
        "fused into injective "
        "operators)");
  CHECK(words({transpose, sum}, {{0, 1, CommReduce}}, {}) ==
        "not fused: the group of ReduceSum is CommReduce (rule: an injective source needs groups "
        "that are at most "
        "Injective)");
  CHECK(words({relu, tanh}, {{0, 1, ElemWise}},
              {.keep_apart = {{{0, 1}, "handed back: no schedule fits in 32 KiB"}}}) ==
        "not fused: handed back: no schedule fits in 32 KiB");
}

}  // namespace polyte::graph
