// The list of passes as a whole: on a network and on random graphs the results of single nodes and
// of fused groups are those of the graph before.
#include "graph/optimize.h"

#include <doctest/doctest.h>

#include "graph/evaluate.h"
#include "graph/explain_fusion.h"
#include "graph/fusion_graph.h"
#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

static bool operator==(const Tensor& a, const Tensor& b) {
  return a.type == b.type && *a.bytes == *b.bytes;
}

namespace {

// Conv - BatchNormalization - Relu, a residual sum around a second convolution, Identity,
// Reshape, Gemm.
Graph residual_network() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 4, 4}));
  const auto constant = [&](const std::string& name, Dims shape, std::uint64_t seed) {
    return graph.add_constant(name, random_integers(f32(std::move(shape)), seed, 2));
  };
  const auto numbers = [&](const char* name, std::vector<double> elements) {
    return graph.add_constant(name, make_tensor(f32({2}), elements));
  };
  ValueId y =
      add(graph, "conv1", OpKind::Conv, conv_3x3(), {x, constant("w1", {2, 2, 3, 3}, 1), kNoValue});
  y = add(graph, "bn1", OpKind::BatchNormalization, NormAttributes{.epsilon = 0, .axis = 0},
          {y, numbers("s", {2, 1}), numbers("b", {1, -1}), numbers("m", {2, -2}),
           numbers("v", {4, 1})});
  const ValueId skip = add(graph, "relu1", OpKind::Relu, NoAttributes{}, {y});
  y = add(graph, "conv2", OpKind::Conv, conv_3x3(),
          {skip, constant("w2", {2, 2, 3, 3}, 2), constant("b2", {2}, 3)});
  y = add(graph, "identity", OpKind::Identity, NoAttributes{}, {y});
  y = add(graph, "add", OpKind::Add, NoAttributes{}, {y, skip});
  y = add(graph, "relu2", OpKind::Relu, NoAttributes{}, {y});
  y = add(graph, "flatten", OpKind::Reshape, ShapeAttributes{{1, 32}}, {y});
  y = add(graph, "fc", OpKind::Gemm, GemmAttributes{},
          {y, constant("w3", {32, 3}, 4), constant("b3", {3}, 5)});
  graph.outputs = {y};
  return graph;
}

std::vector<std::byte> result(const Graph& graph) {
  return evaluate_graph(graph, std::vector<Tensor>{random_integers(f32({1, 2, 4, 4}), 9)})
      .at(0)
      .bytes->copy();
}

}  // namespace

TEST_CASE("the list of passes keeps the results of a network") {
  Graph graph = residual_network();
  const auto expected = result(graph);
  std::vector<std::string> seen;
  OptimizeOptions options;
  options.after_pass = [&](std::string_view pass, const Graph& after) {
    seen.emplace_back(pass);
    CHECK(result(after) == expected);
  };
  optimize(graph, options);
  CHECK(seen == optimize_pass_names());
  CHECK(operators(graph) == "Conv Relu Conv Add Relu Reshape Gemm");
}

TEST_CASE("a pass can be skipped, and exact skips all that change roundings") {
  Graph skipping = residual_network();
  const OptimizeReport report =
      optimize(skipping, {.skip = {"fold scales", "simplify batch norms"}});
  CHECK(operators(skipping) == "Conv BatchNormalization Relu Conv Add Relu Reshape Gemm");
  for (const PassRecord& pass : report.passes) {
    CHECK(pass.ran == (pass.name != "fold scales" && pass.name != "simplify batch norms"));
  }
  Graph exact = residual_network();
  optimize(exact, {.exact = true});
  CHECK(print(exact) == print(skipping));
}

TEST_CASE("a pass that does not exist is named, with those that do") {
  Graph graph = residual_network();
  CHECK_THROWS_WITH(
      optimize(graph, {.skip = {"fold scale"}}),
      "no graph pass is called 'fold scale'; there are 'remove dead nodes', 'unroll recurrences', "
      "'fold constants', 'merge "
      "transposes', 'merge reshapes', 'remove identities', 'fold scales', 'simplify batch norms', "
      "'choose layouts', 'transform convolutions', 'block scans', 'absorb transposes', 'merge "
      "common nodes'");
}

TEST_CASE("fused groups compute what single nodes do, and say why they are fused") {
  Graph graph = residual_network();
  optimize(graph);
  const FusionGraph abstract = make_fusion_graph(graph);
  const FusionReport report = fuse(abstract);
  CHECK(report.groups == std::vector<std::vector<int>>{{0, 1}, {2, 3, 4}, {5}, {6}});
  const std::vector<Tensor> inputs = {random_integers(f32({1, 2, 4, 4}), 9)};
  CHECK(evaluate_groups(graph, report.groups, inputs).at(0).bytes->copy() == result(graph));
  CHECK(
      explain_fusion(abstract, {}, report) ==
      "group 0   Conv 'conv1' + BatchNormalization (folded) + Relu\n"
      "  Conv -> Relu           fused: phase "
      "0, Relu post-dominates Conv, the path is element-wise\ngroup 1   Conv 'conv2' + Add + Relu\n"
      "  Conv -> Add            fused: phase 0, Add post-dominates Conv, the path is element-wise; "
      "the other operand is an input of the group\n"
      "  Add -> Relu            fused: phase 0, Relu post-dominates Add, the path is element-wise\n"
      "  Relu 'relu1' -> Conv   not fused: Conv is OutEWiseFusable (rule: "
      "an OutEWiseFusable source needs an element-wise path; by its group, Relu 'relu1' is one)\n"
      "  Relu 'relu1' -> Add    not fused: on the way to Add, Conv is OutEWiseFusable (rule: "
      "an OutEWiseFusable source needs an element-wise path; by its group, Relu 'relu1' is one)\n"
      "group 2   Reshape 'flatten'\n  Relu -> Reshape        not fused: Reshape is Injective "
      "(rule: an OutEWiseFusable source needs an element-wise path; by its group, Relu is one)\n"
      "group 3   Gemm 'fc'\n  Reshape -> Gemm        not fused: the group of Gemm "
      "is OutEWiseFusable (rule: an injective source needs groups that are at most Injective)\n");
}

TEST_CASE(
    "a value read twice by one operator is one edge; a broadcast that keeps the shape is "
    "element-wise") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId relu = add(graph, "relu", OpKind::Relu, NoAttributes{}, {x});
  const ValueId square = add(graph, "square", OpKind::Mul, NoAttributes{}, {relu, relu});
  const ValueId row = add(graph, "row", OpKind::ReduceMax, ReduceAttributes{{0}, true}, {x});
  graph.outputs = {add(graph, "y", OpKind::Add, NoAttributes{}, {square, row})};
  const FusionGraph abstract = make_fusion_graph(graph);
  REQUIRE(abstract.edges.size() == 3);
  CHECK(abstract.nodes[3].pattern == OpPattern::Broadcast);
  CHECK(abstract.edges[1].pattern == OpPattern::ElemWise);   // square -> y
  CHECK(abstract.edges[2].pattern == OpPattern::Broadcast);  // row -> y
  CHECK(abstract.nodes[3].external);
  CHECK_FALSE(abstract.nodes[1].external);
}

TEST_CASE(
    "random graphs keep their results through all passes, in single nodes and in fused groups") {
  const auto numbers = [](const std::vector<Tensor>& tensors) {
    std::vector<std::vector<double>> all;
    for (const Tensor& tensor : tensors) all.push_back(elements_as_real(tensor));
    return all;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Graph graph = random_graph(seed, {.most_nodes = 16, .most_elements = 512});
    CAPTURE(print(graph));
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) inputs.push_back(random_integers(graph.value(id).type, seed));
    const std::vector<Tensor> expected = evaluate_graph(graph, inputs);
    REQUIRE(evaluate_groups(graph, fuse(make_fusion_graph(graph)).groups, inputs) == expected);
    optimize(graph);
    const std::vector<Tensor> optimized = evaluate_graph(graph, inputs);
    REQUIRE(numbers(optimized) == numbers(expected));  // 0 equals -0
    REQUIRE(evaluate_groups(graph, fuse(make_fusion_graph(graph)).groups, inputs) == optimized);
  }
}

}  // namespace polyte::graph
