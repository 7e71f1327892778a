#include "graph/propose_joins.h"

#include <doctest/doctest.h>

#include "graph/expand.h"
#include "graph/fusion_graph.h"
#include "ir/program_text.h"

namespace polyte::graph {

namespace {

// softmax(q k^T / 8 + mask) v, and what else reads it.
struct Attention {
  Graph graph;
  ValueId scores, weights, result;

  explicit Attention(std::int64_t axis = 3) {
    const ValueId q = graph.add_input("q", {DType::F32, {1, 2, 20, 8}}),
                  k = graph.add_input("k", {DType::F32, {1, 2, 8, 24}}),
                  v = graph.add_input("v", {DType::F32, {1, 2, 24, 8}}),
                  mask = graph.add_input("mask", {DType::F32, {1, 1, 1, 24}}),
                  scale = graph.add_constant("scale", make_scalar(DType::F32, 8));
    const ValueId products = add("qk", OpKind::MatMul, {}, {q, k});
    scores =
        add("masked", OpKind::Add, {}, {add("scaled", OpKind::Div, {}, {products, scale}), mask});
    weights = add("softmax", OpKind::Softmax, SoftmaxAttributes{axis, axis + 1}, {scores});
    result = add("mixed", OpKind::MatMul, {}, {weights, v});
    graph.outputs = {result};
  }
  ValueId add(const std::string& name, OpKind op, Attributes attributes,
              std::vector<ValueId> inputs) {
    return graph
        .node(graph.add_node(name, op, std::move(attributes), std::move(inputs), {name + "_y"}))
        .outputs[0];
  }
  std::vector<KeepTogether> proposals() const {
    REQUIRE(verify(graph).empty());
    return propose_joins(graph, fuse(make_fusion_graph(graph)));
  }
};

}  // namespace

TEST_CASE(
    "propose joins: products around a softmax become one group, whose loops go by the same names") {
  const Attention attention;
  FusionOptions options;
  options.keep_together = attention.proposals();
  REQUIRE(options.keep_together.size() == 1);
  const FusionReport report = fuse(make_fusion_graph(attention.graph), options);
  CHECK(report.not_joined == std::vector<std::string>{""});
  REQUIRE(report.groups == std::vector<std::vector<int>>{{0, 1, 2, 3, 4}});
  const ir::Program program = expand(attention.graph, report.groups[0], "attention").program;
  INFO(ir::print(program));
  CHECK(program.statement("e").iterators == program.statement("masked_y").iterators);
}

TEST_CASE(
    "propose joins: not where somebody else reads the scores or the weights, or along other "
    "dimensions") {
  CHECK(Attention(2).proposals().empty());
  for (const bool of_weights : {false, true}) {
    Attention seen;
    seen.graph.outputs.push_back(of_weights ? seen.weights : seen.scores);
    CHECK(seen.proposals().empty());
    Attention read;
    read.graph.outputs.push_back(
        read.add("again", OpKind::Relu, {}, {of_weights ? read.weights : read.scores}));
    CHECK(read.proposals().empty());
  }
  Attention twice;  // the product reads the weights on both sides
  const ValueId square = twice.add("softmax2", OpKind::Softmax, SoftmaxAttributes{3, 4},
                                   {twice.graph.add_input("x", {DType::F32, {1, 1, 8, 8}})});
  twice.graph.outputs.push_back(twice.add("power", OpKind::MatMul, {}, {square, square}));
  CHECK(twice.proposals().size() == 1);
}

TEST_CASE("propose joins: two products are one group only where that was proposed") {
  const Attention attention;
  FusionOptions asked;
  asked.keep_together = attention.proposals();
  asked.keep_together[0].proposed = false;
  CHECK(
      fuse(make_fusion_graph(attention.graph), asked).not_joined[0].find("at most one operator") !=
      std::string::npos);
  asked.keep_together[0].proposed = true;
  asked.keep_apart = {
      {{asked.keep_together[0].first, asked.keep_together[0].second}, "handed back"}};
  CHECK(fuse(make_fusion_graph(attention.graph), asked).not_joined ==
        std::vector<std::string>{"that contradicts: handed back"});
}

}  // namespace polyte::graph
