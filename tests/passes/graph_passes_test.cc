// Each pass over graphs on a golden: the graph of graphs.cc before and after it, with the numbers
// of its small constants. That both compute the same is checked as well, so that a wrong result
// cannot be blessed.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "graph/pass_list.h"
#include "tests/graph/pass_testing.h"
#include "tests/passes/graphs.h"
#include "tests/passes/pass_golden.h"

namespace polyte {
namespace {

using testing::PassGolden;

// The graph, and what its constants hold where a person can read that.
std::string text_of(const graph::Graph& graph) {
  constexpr std::int64_t kMostShown = 8;
  std::ostringstream text;
  text << graph::print(graph);
  for (const graph::Value& value : graph.values) {
    if (!value.is_constant() || graph::element_count(value.type.shape) > kMostShown) continue;
    text << "  %" << value.name << " =";
    for (const double number : graph::elements_as_real(value.tensor())) text << ' ' << number;
    text << '\n';
  }
  return text.str();
}

graph::OptimizeOptions options_of(const PassGolden& golden) {
  graph::OptimizeOptions options;
  options.absorbs_transposes = true;
  options.unrolls_recurrences = true;
  const std::string layout = golden.setting("layout");
  if (!layout.empty())
    options.layout = {*graph::layout_from_string(layout), {std::stoll(golden.setting("block")), 1}};
  const std::string convolutions = golden.setting("convolutions");
  if (!convolutions.empty())
    options.convolutions = {*graph::convolutions_from_string(convolutions),
                            {{std::stoll(golden.setting("block")), 1}}};
  return options;
}

void make_graphs(PassGolden& golden) {
  const std::string name = golden.setting("pass");
  const auto pass = std::ranges::find_if(
      graph::pass_list(), [&](const graph::ListedPass& p) { return name == p.name; });
  REQUIRE(pass != graph::pass_list().end());
  const graph::Graph before = testing::graph_named(golden.setting("graph"));
  graph::Graph after = before;
  const graph::PassRecord record = graph::run_pass(*pass, after, options_of(golden));
  graph::testing::check_same_results(before, after);
  golden.set_section("before", text_of(before));
  golden.set_section("after", text_of(after));
  golden.set_section("notes", testing::lines_of(record.notes));
}

}  // namespace

TEST_CASE("each graph pass makes of its goldens what they say") {
  const std::set<std::string> covered = testing::check_goldens("graph", make_graphs);
  for (const std::string& name : graph::optimize_pass_names())
    CHECK_MESSAGE(covered.count(name) == 1, name);
}

}  // namespace polyte
