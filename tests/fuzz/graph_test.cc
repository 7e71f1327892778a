// The judge of graphs, on what random ones rarely hold.
#include <doctest/doctest.h>

#include "driver/judge/fuzz/fuzz_graph.h"

using namespace polyte;
using namespace polyte::fuzz;

namespace {

// Rows -1 and 1 of an input of one row: a maximum over padding alone, which is -inf. Times zero it
// is no number.
graph::Graph convolved_padding() {
  graph::Graph g;
  const graph::ValueId x = g.add_input("x", {DType::F32, {1, 3, 1, 5}});
  const graph::Window window{{2, 3}, {1, 2}, {2, 2}, {1, 1}, {1, 1}};
  const graph::NodeId pool =
      g.add_node("pool", graph::OpKind::MaxPool, graph::PoolAttributes{window}, {x}, {"v"});
  const std::vector<double> weights = {0, 1, -1, 2, 1, 0};
  const graph::ValueId w =
      g.add_constant("w", graph::make_tensor({DType::F32, {2, 3, 1, 1}}, weights));
  const graph::ConvAttributes conv{.window = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
                                   .output_padding = {}};
  const graph::ValueId v = g.node(pool).outputs[0];
  g.outputs.push_back(
      g.node(g.add_node("conv", graph::OpKind::Conv, conv, {v, w, graph::kNoValue}, {"y"}))
          .outputs[0]);
  return g;
}

}  // namespace

TEST_CASE(
    "a result that is no number is the same before and after the passes, in blocks and natively") {
  for (const std::uint64_t seed : {1, 2}) {  // channels in blocks natively, and plain
    const auto fault =
        check_graph(convolved_padding(), seed, true, codegen::target_for_cpu("x86-64-v3"));
    CAPTURE(fault ? fault->kind + ": " + fault->detail : "");
    CHECK_FALSE(fault);
  }
}
