// Winograd's method: the same numbers on small integers, bit for bit, for every form of window, pad
// and size; an error near that of the convolution itself on others; and what is left alone.
#include "graph/passes/transform_convolutions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "graph/evaluate.h"
#include "graph/layouts/blocked_tensor.h"
#include "graph/passes/choose_layouts.h"
#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

namespace {

constexpr std::int64_t kBlock = 4;
const ConvolutionOptions kForced{.how = Convolutions::Winograd, .use = {{kBlock, 1}}};

struct Shapes {
  std::int64_t batch = 1, inputs = 8, outputs = 8;
  Dims image, kernel, pads_begin, pads_end;
};

Window window_of(const Shapes& s) {
  const Dims ones(s.kernel.size(), 1);
  return {s.kernel, ones, ones, s.pads_begin, s.pads_end};
}

// One convolution in blocks with a bias and what follows it.
Graph convolution_in_blocks(const Shapes& s, DType type = DType::F32) {
  Graph graph;
  Dims x = {s.batch, s.inputs / kBlock};
  x.insert(x.end(), s.image.begin(), s.image.end());
  x.push_back(kBlock);
  Dims w = {s.outputs, s.inputs};
  w.insert(w.end(), s.kernel.begin(), s.kernel.end());
  const ValueId input = graph.add_input("x", {type, x});
  const ValueId weight =
      graph.add_constant("w", blocked_tensor(random_integers({type, w}, 3, 2), 0, kBlock));
  const ValueId bias =
      graph.add_constant("b", random_integers({type, {s.outputs / kBlock, kBlock}}, 4, 2));
  const ConvAttributes conv{.window = window_of(s),
                            .group = 1,
                            .output_padding = {},
                            .input_block = kBlock,
                            .output_block = kBlock};
  const ValueId sum = add(graph, "c", OpKind::Conv, conv, {input, weight, bias});
  graph.outputs = {add(graph, "y", OpKind::Relu, NoAttributes{}, {sum})};
  return graph;
}

void check_same_numbers(const Shapes& s, DType type = DType::F32) {
  const Graph before = convolution_in_blocks(s, type);
  Graph after = before;
  CHECK(transform_convolutions(after, kForced).rewrites == 1);
  CHECK(operators(after) == "WinogradConv Relu");
  check_same_results(before, after);
}

}  // namespace

TEST_CASE("any image, pads and batch: the bits of the convolution on small integers") {
  for (const std::int64_t height : {1, 2, 3, 5, 6})
    for (const std::int64_t width : {1, 4, 7})
      for (const std::int64_t before : {0, 1, 2})
        for (const std::int64_t after : {0, 1}) {
          if (height + before + after < 3 || width + before + after < 3) continue;
          CAPTURE(height);
          CAPTURE(width);
          CAPTURE(before);
          CAPTURE(after);
          check_same_numbers({.batch = 1 + height % 2,
                              .image = {height, width},
                              .kernel = {3, 3},
                              .pads_begin = {before, after},
                              .pads_end = {after, before}});
        }
}

TEST_CASE("one, two and three dimensions, transformed or not") {
  check_same_numbers({.image = {9}, .kernel = {3}, .pads_begin = {1}, .pads_end = {1}});
  check_same_numbers({.image = {5, 6}, .kernel = {1, 3}, .pads_begin = {0, 1}, .pads_end = {0, 0}});
  check_same_numbers({.image = {5, 6}, .kernel = {3, 1}, .pads_begin = {1, 1}, .pads_end = {1, 2}});
  check_same_numbers({.inputs = 4,
                      .outputs = 12,
                      .image = {3, 4, 5},
                      .kernel = {3, 1, 3},
                      .pads_begin = {1, 0, 1},
                      .pads_end = {1, 0, 1}});
  check_same_numbers({.inputs = 4,
                      .outputs = 4,
                      .image = {3, 4, 3},
                      .kernel = {3, 3, 3},
                      .pads_begin = {1, 1, 1},
                      .pads_end = {1, 1, 1}},
                     DType::F64);
}

// Weights and inputs in (-1, 1), sums of 9 * 128 products of them: the error of the transformed
// convolution, beside that of the convolution itself, both against double precision.
TEST_CASE("other numbers: an error near that of the convolution itself") {
  const Shapes s{.inputs = 128,
                 .outputs = 4,
                 .image = {6, 6},
                 .kernel = {3, 3},
                 .pads_begin = {1, 1},
                 .pads_end = {1, 1}};
  std::uint64_t state = 1;
  const auto reals = [&state](const TensorType& type) {
    std::vector<double> elements(static_cast<std::size_t>(element_count(type.shape)));
    for (double& element : elements) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      element = static_cast<float>(static_cast<double>(state >> 40) / double{1 << 23} - 1);
    }
    return make_tensor(type, elements);
  };
  const auto results_of = [&](DType type, bool transformed) {
    state = 1;
    Graph graph = convolution_in_blocks(s, type);
    for (Value& value : graph.values)
      if (value.is_constant()) value.data = reals(value.type).bytes;
    if (transformed) transform_convolutions(graph, kForced);
    const std::vector<Tensor> inputs{reals(graph.value(graph.inputs[0]).type)};
    return elements_as_real(evaluate_graph(graph, inputs)[0]);
  };
  const std::vector<double> exact = results_of(DType::F64, false);
  const auto error_of = [&](const std::vector<double>& results) {
    double squares = 0, all = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      squares += (results[i] - exact[i]) * (results[i] - exact[i]);
      all += exact[i] * exact[i];
    }
    return std::sqrt(squares / all);
  };
  const double direct = error_of(results_of(DType::F32, false)),
               transformed = error_of(results_of(DType::F32, true));
  CHECK(direct > 0);
  CHECK(transformed < 3 * direct);
  CHECK(transformed < 1e-6);
  CHECK(error_of(results_of(DType::F64, true)) < 1e-14);
}

TEST_CASE("what cannot be transformed says why, where it was asked for") {
  const Shapes s{.image = {4, 4}, .kernel = {3, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}};
  const auto note_of = [](Graph graph) {
    const std::string before = print(graph);
    const PassResult result = transform_convolutions(graph, kForced);
    CHECK(result.rewrites == 0);
    CHECK(print(graph) == before);
    return result.notes.empty() ? "" : result.notes[0];
  };
  Graph plain;
  const ValueId x = plain.add_input("x", f32({1, 4, 5, 5}));
  const ValueId w = plain.add_constant("w", random_integers(f32({4, 4, 3, 3}), 1));
  plain.outputs = {add(plain, "c", OpKind::Conv, conv_3x3(), {x, w})};
  CHECK(note_of(plain) == "'c' direct: its channels are not in blocks");

  Shapes five = s;
  five.kernel = {5, 3};
  CHECK(note_of(convolution_in_blocks(five)) == "'c' direct: its window is not of 3 at stride 1");
  Shapes points = s;
  points.kernel = {1, 1};
  CHECK(note_of(convolution_in_blocks(points)) == "'c' direct: its window is not of 3 at stride 1");
  CHECK(note_of(convolution_in_blocks(s, DType::F16)) ==
        "'c' direct: its elements are neither f32 nor f64");

  Shapes large = s;
  large.image = {730, 720};  // 16 * 365 * 360 elements of 16 channels: 128.3 MiB
  CHECK(note_of(convolution_in_blocks(large)) ==
        "'c' direct: its transformed inputs and outputs would take more than 128 MiB");

  Graph kept = convolution_in_blocks(s);
  CHECK(
      transform_convolutions(kept, {.how = Convolutions::Direct, .use = {{kBlock, 1}}}).rewrites ==
      0);
}

// Prices: many channels pay, few do not, and what is small is left alone.
TEST_CASE("auto transforms what gains, and says what it would cost") {
  const auto result_of = [](std::int64_t channels, std::int64_t size) {
    Graph graph = convolution_in_blocks({.inputs = channels,
                                         .outputs = channels,
                                         .image = {size, size},
                                         .kernel = {3, 3},
                                         .pads_begin = {1, 1},
                                         .pads_end = {1, 1}});
    return transform_convolutions(graph, {.how = Convolutions::Auto, .use = {{16, 1}}});
  };
  const PassResult many = result_of(64, 16), few = result_of(8, 16);
  CHECK(many.rewrites == 1);
  CHECK(few.rewrites == 0);
  CHECK(many.notes[0] == "'c' by Winograd's method: 643 k cycles as it is, 369 k transformed");
  CHECK(few.notes[0] == "'c' direct: 10 k cycles as it is, 19 k transformed");
}

// A convolution of plain channels that gains more than the reorders cost is laid out in blocks.
TEST_CASE("layouts know what a convolution in blocks will be") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 64, 32, 32}));
  const ValueId w = graph.add_constant("w", random_integers(f32({64, 64, 3, 3}), 1, 2));
  graph.outputs = {add(graph, "c", OpKind::Conv, conv_3x3(), {x, w})};
  Graph without = graph;
  LayoutOptions options{.layout = Layout::Auto, .unit = {16, 1}};
  CHECK(choose_layouts(without, options).rewrites == 0);
  options.transforms = WinogradUse{options.unit};
  CHECK(choose_layouts(graph, options).rewrites == 1);
  CHECK(operators(graph) == "Reshape Transpose Conv Transpose Reshape");
}

TEST_CASE("convolutions: a name for each choice and back") {
  for (const Convolutions how : {Convolutions::Auto, Convolutions::Direct, Convolutions::Winograd})
    CHECK(convolutions_from_string(to_string(how)) == how);
  CHECK_FALSE(convolutions_from_string("fft"));
}

}  // namespace polyte::graph
