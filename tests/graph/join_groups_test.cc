// Directives that join groups or keep operators apart: groups by hand, their order on random
// graphs, and the words of refusals.
#include "graph/join_groups.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "graph/evaluate.h"
#include "graph/explain_fusion.h"
#include "graph/fusion_graph.h"
#include "graph/random_graph.h"
#include "tests/graph/random_dag.h"

namespace polyte::graph {

namespace {

using enum OpPattern;
using Groups = std::vector<std::vector<int>>;

FusionGraph graph_of(const std::vector<std::pair<OpPattern, std::vector<int>>>& nodes) {
  FusionGraph graph;
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    graph.nodes.push_back(
        {.op = "Op", .name = "n" + std::to_string(id), .pattern = nodes[id].first, .folded = {}});
    for (const int input : nodes[id].second)
      graph.edges.push_back(
          {.producer = input, .consumer = static_cast<int>(id), .pattern = nodes[id].first});
  }
  return graph;
}

FusionReport joined(const FusionGraph& graph, int first, int second) {
  FusionOptions options;
  options.keep_together = {{first, second, "asked"}};
  return fuse(graph, options);
}

// Every edge leads into its own group or a later one.
void check_order(const FusionGraph& graph, const FusionReport& report) {
  std::size_t nodes = 0;
  for (const auto& group : report.groups) {
    nodes += group.size();
    CHECK(std::ranges::is_sorted(group));
  }
  CHECK(nodes == graph.nodes.size());
  for (const FusionEdge& edge : graph.edges)
    REQUIRE(report.group_of[edge.producer] <= report.group_of[edge.consumer]);
}

}  // namespace

TEST_CASE("join: what no rule fuses becomes one group, with all between") {
  // A pooling before a convolution; a second reader of the pooling between them in order.
  const FusionGraph graph =
      graph_of({{CommReduce, {}}, {ElemWise, {0}}, {OutEWiseFusable, {0}}, {ElemWise, {2}}});
  CHECK(fuse(graph).groups == Groups{{0}, {1}, {2, 3}});
  const FusionReport report = joined(graph, 0, 2);
  CHECK(report.not_joined == std::vector<std::string>{""});
  CHECK(report.groups == Groups{{0, 2, 3}, {1}});  // the second reader comes after the group now
  check_order(graph, report);
  const FusionOptions options{.keep_apart = {}, .keep_together = {{0, 2, "file:1: together"}}};
  CHECK(explain_edge(graph, options, report.edges[1]) == "fused: file:1: together");
}

TEST_CASE("join: the operators on the paths between come along") {
  const FusionGraph graph =
      graph_of({{CommReduce, {}}, {CommReduce, {0}}, {CommReduce, {1}}, {CommReduce, {0, 2}}});
  CHECK(joined(graph, 0, 3).groups == Groups{{0, 1, 2, 3}});
  CHECK(joined(graph, 3, 0).groups == Groups{{0, 1, 2, 3}});
  CHECK(joined(graph, 1, 2).groups == Groups{{0}, {1, 2}, {3}});
}

TEST_CASE("join: what cannot be is refused with a reason, and nothing changes") {
  const auto refusal = [](const FusionGraph& graph, int first, int second,
                          FusionOptions options = {}) {
    options.keep_together = {{first, second, "asked"}};
    const FusionReport report = fuse(graph, options);
    options.keep_together.clear();
    CHECK(report.groups == fuse(graph, options).groups);
    return report.not_joined.at(0);
  };
  const FusionGraph two = graph_of({{OutEWiseFusable, {}}, {OutEWiseFusable, {0}}});
  CHECK(refusal(two, 0, 1) ==
        "'n0' (Op) and 'n1' (Op) would meet in one group, which has at most one operator that is "
        "OutEWiseFusable");
  const FusionGraph opaque = graph_of({{ElemWise, {}}, {Opaque, {0}}});
  CHECK(refusal(opaque, 0, 1) == "'n1' (Op) is Opaque and always a group of its own");
  const FusionGraph apart = graph_of({{ElemWise, {}}, {ElemWise, {}}});
  CHECK(refusal(apart, 0, 1) == "no path leads from one to the other");
  const FusionGraph sums = graph_of({{CommReduce, {}}, {CommReduce, {0}}});
  FusionOptions options;
  options.keep_apart = {{{0, 1}, "file:1: apart"}};
  CHECK(refusal(sums, 0, 1, options) == "that contradicts: file:1: apart");
  options.keep_apart.clear();
  options.max_group_nodes = 1;
  CHECK(refusal(sums, 0, 1, options) ==
        "with all between them they are 2 operators, a group has at most 1");
}

TEST_CASE("join: joined or refused, groups run in order") {
  int successes = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const FusionGraph graph = testing::random_dag(seed);
    const int count = static_cast<int>(graph.nodes.size());
    FusionOptions options;
    for (int i = 0; i < 3; ++i)
      options.keep_together.push_back({static_cast<int>(seed * 7 + i * 5) % count,
                                       static_cast<int>(seed * 3 + i * 11) % count, "asked"});
    const FusionReport report = fuse(graph, options);
    check_order(graph, report);
    for (std::size_t i = 0; i < options.keep_together.size(); ++i) {
      const int first = options.keep_together[i].first, second = options.keep_together[i].second;
      const bool is_joined = report.group_of[first] == report.group_of[second];
      REQUIRE(is_joined == report.not_joined[i].empty());
      successes += is_joined && first != second;
    }
  }
  CHECK(successes > 50);
}

TEST_CASE("join: random graphs keep their bits, whatever is joined or kept apart") {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = random_graph(seed, {.most_nodes = 12, .most_elements = 128});
    const FusionGraph abstract = make_fusion_graph(graph);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs)
      inputs.push_back(random_integers(graph.value(id).type, seed));
    FusionOptions options;
    for (std::size_t e = 0; e < abstract.edges.size(); ++e) {
      const auto& edge = abstract.edges[e];
      if ((seed + e) % 3 == 0)
        options.keep_together.push_back({edge.producer, edge.consumer, "asked"});
      if ((seed + e) % 5 == 1)
        options.keep_apart.push_back({{edge.producer, edge.consumer}, "asked"});
    }
    const FusionReport report = fuse(abstract, options);
    changed += report.groups != fuse(abstract).groups;
    const std::vector<Tensor> expected = evaluate_graph(graph, inputs);
    const std::vector<Tensor> got = evaluate_groups(graph, report.groups, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(*got[i].bytes == *expected[i].bytes);
  }
  CHECK(changed > 20);
}

}  // namespace polyte::graph
