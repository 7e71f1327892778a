// Resize of drawn sizes against its definition: one place of the input for each of the output,
// whichever operators the importer writes it with.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "frontend/onnx_import.h"
#include "graph/evaluate.h"
#include "tests/frontend/model_builder.h"

namespace polyte {
namespace {

struct Resized {
  std::string mode, nearest, coordinates;
  double scale = 1;
  std::vector<double> x;
};

double place(const Resized& of, std::int64_t i, std::int64_t count) {
  const auto at = static_cast<double>(i), n = static_cast<double>(of.x.size());
  if (of.coordinates == "asymmetric") return at / of.scale;
  if (of.coordinates == "half_pixel") return (at + 0.5) / of.scale - 0.5;
  return count == 1 ? 0 : at * (n - 1) / (n * of.scale - 1);  // align_corners
}

double element(const Resized& of, double at) {
  const auto last = static_cast<double>(of.x.size() - 1);
  return of.x[static_cast<std::size_t>(std::clamp(at, 0.0, last))];
}

double expected(const Resized& of, std::int64_t i, std::int64_t count) {
  const double at = place(of, i, count), low = std::floor(at), part = at - low;
  if (of.mode == "linear") return element(of, low) * (1 - part) + element(of, low + 1) * part;
  if (of.nearest == "floor") return element(of, low);
  if (of.nearest == "ceil") return element(of, std::ceil(at));
  const bool goes_down = of.nearest == "round_prefer_floor" ? part <= 0.5 : part < 0.5;
  return element(of, goes_down ? low : low + 1);
}

graph::Graph model_of(const Resized& of) {
  testing::ModelBuilder b(17);
  b.input("x", {2, static_cast<std::int64_t>(of.x.size())});
  b.floats("scales", {2}, {1, static_cast<float>(of.scale)});
  onnx::NodeProto& node = b.node("Resize", {"x", "", "scales"}, {"y"}, "n");
  testing::set(node, "mode", of.mode);
  testing::set(node, "nearest_mode", of.nearest);
  testing::set(node, "coordinate_transformation_mode", of.coordinates);
  b.output("y");
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", {}).graph;
}

}  // namespace

TEST_CASE("resize: drawn sizes, scales and modes, as they are defined") {
  std::mt19937 random(9);
  const auto one_of = [&](const auto& all) { return all[random() % all.size()]; };
  const std::vector<std::string> nearest = {"floor", "ceil", "round_prefer_floor",
                                            "round_prefer_ceil"},
                                 coordinates = {"asymmetric", "half_pixel", "align_corners"};
  const std::vector<double> scales = {2, 2, 3, 4, 5, 1, 1.5, 2.5, 0.5, 0.25};
  std::set<graph::OpKind> kinds;
  for (int run = 0; run < 400; ++run) {
    Resized of{run % 3 == 0 ? "linear" : "nearest", one_of(nearest), one_of(coordinates),
               one_of(scales), std::vector<double>(4 + random() % 9)};
    for (double& x : of.x) x = static_cast<double>(random() % 64) - 32;
    CAPTURE(of.mode);
    CAPTURE(of.nearest);
    CAPTURE(of.coordinates);
    CAPTURE(of.scale);
    CAPTURE(of.x.size());
    const graph::Graph graph = model_of(of);
    for (const graph::Node& node : graph.nodes) kinds.insert(node.op);
    std::vector<double> both = of.x;
    both.insert(both.end(), of.x.begin(), of.x.end());
    const graph::Tensor x =
        graph::make_tensor({DType::F32, {2, static_cast<std::int64_t>(of.x.size())}}, both);
    const auto y = elements_as_real(evaluate_graph(graph, std::vector{x})[0]);
    const auto count = static_cast<std::int64_t>(y.size()) / 2;
    REQUIRE(count == static_cast<std::int64_t>(static_cast<double>(of.x.size()) * of.scale));
    for (std::int64_t i = 0; i < 2 * count; ++i)
      CHECK(y[static_cast<std::size_t>(i)] ==
            doctest::Approx(expected(of, i % count, count)).epsilon(1e-5));
  }
  using enum graph::OpKind;
  for (const graph::OpKind kind : {Expand, Slice, Pad, Gather}) CHECK(kinds.contains(kind));
}

}  // namespace polyte
