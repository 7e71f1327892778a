// The partition of a graph in groups: against TVM's on its own graphs (tests/data/fusion), against
// a second implementation on random ones, and rule by rule.
#include "graph/fuse.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/graph/random_dag.h"
#include "tests/graph/reference_partition.h"

namespace polyte::graph {

namespace {

using enum OpPattern;
using Groups = std::vector<std::vector<int>>;

OpPattern pattern_called(const std::string& name) {
  for (OpPattern pattern :
       {ElemWise, Broadcast, Injective, CommReduce, OutEWiseFusable, Tuple, Opaque})
    if (to_string(pattern) == name) return pattern;
  FAIL("no pattern is called " << name);
  return Opaque;
}

FusionGraph read_graph(const nlohmann::json& document) {
  FusionGraph graph;
  for (const auto& node : document.at("nodes")) {
    const int id = static_cast<int>(graph.nodes.size());
    REQUIRE(node.at("id") == id);
    const OpPattern pattern = pattern_called(node.at("pattern").get<std::string>());
    graph.nodes.push_back({.op = node.at("op"),
                           .name = {},
                           .pattern = pattern,
                           .is_tuple_get = node.at("op") == "tuple_get_item",
                           .external = node.at("extern"),
                           .folded = {}});
    for (const auto& input : node.at("inputs")) {
      if (input.is_number())
        graph.edges.push_back({.producer = input, .consumer = id, .pattern = pattern});
    }
  }
  return graph;
}

// nodes[i] consumes what its list names; edges carry the consumer's pattern.
FusionGraph make_graph(const std::vector<std::pair<OpPattern, std::vector<int>>>& nodes) {
  FusionGraph graph;
  for (const auto& [pattern, operands] : nodes) {
    const int id = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back({.op = std::string(to_string(pattern)),
                           .name = {},
                           .pattern = pattern,
                           .is_tuple_get = false,
                           .external = false,
                           .folded = {}});
    for (int operand : operands) {
      graph.edges.push_back(
          {.producer = operand, .consumer = id, .pattern = pattern == Tuple ? Injective : pattern});
    }
  }
  return graph;
}

FusionVerdict verdict_of(const FusionReport& report, int producer, int consumer) {
  for (const EdgeDecision& edge : report.edges) {
    if (edge.producer == producer && edge.consumer == consumer) return edge.verdict;
  }
  FAIL("no such edge");
  return {};
}

void check_consistent(const FusionGraph& graph, const FusionReport& report) {
  REQUIRE(report.edges.size() == graph.edges.size());
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const EdgeDecision& decision = report.edges[e];
    REQUIRE(decision.producer == graph.edges[e].producer);
    REQUIRE(decision.consumer == graph.edges[e].consumer);
    REQUIRE(decision.fused() ==
            (report.group_of[decision.producer] == report.group_of[decision.consumer]));
    // Groups run in order.
    REQUIRE(report.group_of[decision.producer] <= report.group_of[decision.consumer]);
  }
}

}  // namespace

TEST_CASE("partitions are those of TVM on its 20 graphs") {
  int files = 0;
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/data/fusion")) {
    if (entry.path().extension() == ".json") paths.insert(entry.path());
  }
  for (const auto& path : paths) {
    CAPTURE(path.string());
    const nlohmann::json document = nlohmann::json::parse(std::ifstream(path));
    const FusionGraph graph = read_graph(document);
    const FusionReport report = fuse(graph);
    Groups expected = document.at("groups").get<Groups>();
    for (auto& group : expected) std::sort(group.begin(), group.end());
    std::sort(expected.begin(), expected.end(),
              [](const auto& a, const auto& b) { return a.back() < b.back(); });
    CHECK(report.groups == expected);
    check_consistent(graph, report);
    ++files;
  }
  CHECK(files == 20);
}

TEST_CASE(
    "partitions are those of the reference implementation on 1,000 random graphs, at several size "
    "limits") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const FusionGraph graph = testing::random_dag(seed);
    for (int limit : {256, 8, 2}) {
      CAPTURE(seed);
      CAPTURE(limit);
      const FusionReport report =
          fuse(graph, {.enabled = true, .max_group_nodes = limit, .keep_apart = {}});
      REQUIRE(report.groups == testing::reference_groups(graph, limit));
      check_consistent(graph, report);
    }
  }
}

TEST_CASE("a contraction takes its element-wise tail") {
  const FusionReport report =
      fuse(make_graph({{OutEWiseFusable, {}}, {ElemWise, {0}}, {ElemWise, {1}}}));
  CHECK(report.groups == Groups{{0, 1, 2}});
}

TEST_CASE("an element-wise producer does not enter a contraction") {
  const FusionReport report = fuse(make_graph({{ElemWise, {}}, {OutEWiseFusable, {0}}}));
  CHECK(report.groups == Groups{{0}, {1}});
  CHECK(verdict_of(report, 0, 1) == FusionVerdict::EdgeTooComplex);
}

TEST_CASE("a contraction takes no tail that broadcasts it") {
  CHECK(fuse(make_graph({{OutEWiseFusable, {}}, {Broadcast, {0}}})).groups == Groups{{0}, {1}});
}

TEST_CASE("element-wise operators join a reduction, which joins nothing") {
  const FusionReport report =
      fuse(make_graph({{ElemWise, {}}, {CommReduce, {0}}, {ElemWise, {1}}}));
  CHECK(report.groups == Groups{{0, 1}, {2}});
  CHECK(verdict_of(report, 1, 2) == FusionVerdict::SourceIsReduction);
}

TEST_CASE("a transpose does not join a reduction") {
  const FusionReport report = fuse(make_graph({{Injective, {}}, {CommReduce, {0}}}));
  CHECK(verdict_of(report, 0, 1) == FusionVerdict::GroupTooComplex);
}

TEST_CASE("injective operators wait for contractions to be complete") {
  // transpose -> add <- conv: in phase 1 the transpose finds the conv in add's group.
  const FusionReport report =
      fuse(make_graph({{OutEWiseFusable, {}}, {Injective, {}}, {ElemWise, {0, 1}}}));
  CHECK(report.groups == Groups{{1}, {0, 2}});
  CHECK(verdict_of(report, 1, 2) == FusionVerdict::GroupTooComplex);
}

TEST_CASE("of two contractions that meet, one takes the sum") {
  const FusionReport report =
      fuse(make_graph({{OutEWiseFusable, {}}, {OutEWiseFusable, {}}, {ElemWise, {0, 1}}}));
  CHECK(report.groups == Groups{{1}, {0, 2}});
}

TEST_CASE("injective operators join a tuple that was fused") {
  const FusionReport report =
      fuse(make_graph({{Injective, {}}, {ElemWise, {}}, {Tuple, {0, 1}}, {Injective, {2}}}));
  CHECK(report.groups == Groups{{0, 1, 2, 3}});
  for (const EdgeDecision& edge : report.edges) CHECK(edge.phase == (edge.producer == 2 ? 1 : 2));
}

TEST_CASE("a tuple that stays alone takes nothing") {
  const FusionReport report = fuse(make_graph({{OutEWiseFusable, {}}, {Tuple, {0}}}));
  CHECK(verdict_of(report, 0, 1) == FusionVerdict::SinkIsTuple);
}

TEST_CASE("a tuple-get stays outside when its tuple is made elsewhere") {
  FusionGraph graph = make_graph({{OutEWiseFusable, {}}, {Injective, {0}}, {Injective, {1}}});
  CHECK(fuse(graph).groups == Groups{{0}, {1, 2}});
  graph.nodes[1].is_tuple_get = true;
  const FusionReport report = fuse(graph);
  CHECK(report.groups == Groups{{0}, {1}, {2}});
  CHECK(verdict_of(report, 1, 2) == FusionVerdict::TupleIsOutside);
}

TEST_CASE("a group stops at the size limit") {
  FusionGraph chain = make_graph(
      {{ElemWise, {}}, {ElemWise, {0}}, {ElemWise, {1}}, {ElemWise, {2}}, {ElemWise, {3}}});
  const FusionReport report =
      fuse(chain, {.enabled = true, .max_group_nodes = 3, .keep_apart = {}});
  CHECK(report.groups == testing::reference_groups(chain, 3));
  CHECK(report.groups.size() == 2);
}

TEST_CASE("with fusion off every operator is its own group") {
  const FusionReport report =
      fuse(make_graph({{ElemWise, {}}, {ElemWise, {0}}}), {.enabled = false, .keep_apart = {}});
  CHECK(report.groups == Groups{{0}, {1}});
  CHECK(verdict_of(report, 0, 1) == FusionVerdict::Disabled);
}

TEST_CASE("nodes handed back are kept apart, and the rest is fused as before") {
  const FusionGraph graph =
      make_graph({{OutEWiseFusable, {}}, {ElemWise, {0}}, {ElemWise, {1}}, {ElemWise, {2}}});
  const FusionReport report =
      fuse(graph, {.keep_apart = {{.nodes = {1, 2}, .reason = "scratch too large"}}});
  CHECK(report.groups == Groups{{0, 1}, {2, 3}});
  CHECK(verdict_of(report, 1, 2) == FusionVerdict::KeptApart);
  CHECK(
      fuse(graph, {.keep_apart = {{.nodes = {0, 1, 2, 3}, .reason = "too slow"}}}).groups.size() ==
      2);
}

TEST_CASE("whatever is kept apart stays apart, and groups still run in order") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const FusionGraph graph = testing::random_dag(seed);
    FusionOptions options;
    for (int round = 0; round < 4; ++round) {
      const FusionReport report = fuse(graph, options);
      check_consistent(graph, report);
      for (const KeepApart& apart : options.keep_apart) {
        std::set<int> groups;
        for (int node : apart.nodes) groups.insert(report.group_of[node]);
        REQUIRE(groups.size() > 1);
      }
      for (const auto& group : report.groups) {
        if (group.size() > 1) options.keep_apart.push_back({.nodes = group, .reason = "test"});
      }
    }
  }
}

}  // namespace polyte::graph
