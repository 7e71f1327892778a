// Post-dominators: small graphs by hand, and Boost's tree against a single sweep of ours on random
// ones.
#include "graph/post_dominators.h"

#include <doctest/doctest.h>

#include "tests/graph/random_dag.h"
#include "tests/graph/reference_partition.h"

namespace polyte::graph {

namespace {

std::vector<int> by_boost(const FusionGraph& graph) {
  std::vector<std::vector<int>> consumers(graph.nodes.size());
  std::vector<bool> external;
  for (const FusionEdge& edge : graph.edges) consumers[edge.producer].push_back(edge.consumer);
  for (const FusionNode& node : graph.nodes) external.push_back(node.external);
  return immediate_post_dominators(consumers, external);
}

}  // namespace

TEST_CASE("the branches of a diamond and its source meet in its sink") {
  CHECK(immediate_post_dominators({{1, 2}, {3}, {3}, {}}, {false, false, false, true}) ==
        std::vector<int>{3, 3, 3, kNoPostDominator});
}

TEST_CASE("a value seen outside has no post-dominator, and hides what lies before it") {
  // 0 -> 1 -> 2, and 1 is an output: every way out of 0 passes 1, not 2.
  CHECK(immediate_post_dominators({{1}, {2}, {}}, {false, true, false}) ==
        std::vector<int>{1, kNoPostDominator, kNoPostDominator});
}

TEST_CASE("two exits that never meet leave their common source without a post-dominator") {
  CHECK(immediate_post_dominators({{1, 2}, {}, {}}, {false, false, false}) ==
        std::vector<int>(3, kNoPostDominator));
}

TEST_CASE("an empty graph has no post-dominators") {
  CHECK(immediate_post_dominators({}, {}).empty());
}

TEST_CASE("Lengauer and Tarjan's tree is that of a single sweep on 1,000 random graphs") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const FusionGraph graph = testing::random_dag(seed);
    REQUIRE(by_boost(graph) == testing::sweep_post_dominators(graph).parent);
  }
}

}  // namespace polyte::graph
