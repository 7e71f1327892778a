// Where values enter and leave blocks of channels: operators by hand, results bit for bit those of
// the graph in plain layouts.
#include "graph/passes/choose_layouts.h"

#include <doctest/doctest.h>

#include "graph/evaluate.h"
#include "graph/fuse.h"
#include "graph/fusion_graph.h"
#include "graph/op.h"
#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

namespace {

Window window_2d(std::int64_t kernel, std::int64_t stride = 1) {
  const std::int64_t pad = kernel / 2;
  return {{kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

ConvAttributes conv_of(Window window, std::int64_t group = 1) {
  return {.window = std::move(window), .group = group, .output_padding = {}};
}

// A network in the making: each step takes the last value.
struct Net {
  Graph graph;
  ValueId last = kNoValue;
  std::uint64_t seed = 1;

  explicit Net(Dims input) { last = graph.add_input("x", f32(std::move(input))); }

  const Dims& shape() const { return graph.value(last).type.shape; }
  ValueId constant(Dims dims) {
    return graph.add_constant("c", random_integers(f32(std::move(dims)), seed++, 2));
  }
  Net& then(const std::string& name, OpKind op, Attributes attributes = NoAttributes{},
            std::vector<ValueId> others = {}) {
    others.insert(others.begin(), last);
    last = add(graph, name, op, std::move(attributes), others);
    return *this;
  }
  Net& conv(const std::string& name, std::int64_t outputs, const Window& window,
            std::int64_t group = 1) {
    Dims weight = {outputs, shape()[1] / group};
    weight.insert(weight.end(), window.kernel.begin(), window.kernel.end());
    return then(name, OpKind::Conv, conv_of(window, group),
                {constant(weight), constant({outputs})});
  }
  Graph done() {
    graph.outputs.push_back(last);
    return std::move(graph);
  }
};

PassResult force(Graph& graph, std::int64_t block) {
  return choose_layouts(graph, {.layout = Layout::Blocked, .unit = {block, 1}});
}

// Everything that can be in blocks; returns the operators.
std::string in_blocks(Graph graph, std::int64_t block = 4) {
  Graph blocked = graph;
  force(blocked, block);
  check_same_results(graph, blocked);
  return operators(blocked);
}

// The first nodes of a MobileNet: a dense convolution, an inverted bottleneck with a residual
// sum, a head.
Graph mobile_network(std::int64_t channels, std::int64_t size) {
  Net net({1, 3, size, size});
  net.conv("stem", channels, window_2d(3, 2)).then("relu1", OpKind::Relu);
  const ValueId skip = net.last;
  net.conv("expand", 6 * channels, window_2d(1)).then("relu2", OpKind::Relu);
  net.conv("depthwise", 6 * channels, window_2d(3), 6 * channels).then("relu3", OpKind::Relu);
  net.conv("project", channels, window_2d(1)).then("sum", OpKind::Add, NoAttributes{}, {skip});
  net.then("pool", OpKind::GlobalMaxPool);
  net.then("flat", OpKind::Reshape, ShapeAttributes{{1, channels}});
  return net.done();
}

}  // namespace

TEST_CASE("a region from the first convolution to the global pool needs no reorder") {
  CHECK(in_blocks(mobile_network(8, 8)) ==
        "Conv Relu Conv Relu Conv Relu Conv Add ReduceMax Reshape Reshape");
  // The block does not divide ten channels: what the pool gives is cut.
  CHECK(in_blocks(mobile_network(10, 8)) ==
        "Conv Relu Conv Relu Conv Relu Conv Add ReduceMax Reshape Slice Reshape");
}

TEST_CASE(
    "values in blocks have a dimension more; weights are rewritten, zeros behind the last "
    "channel") {
  Graph graph = Net({1, 3, 4, 4}).conv("a", 6, window_2d(3)).conv("b", 5, window_2d(1)).done();
  force(graph, 4);
  const Node& a = graph.nodes[0];
  const Node& b = graph.nodes[1];
  CHECK(a.name == "a");
  CHECK(to_string(graph.value(a.outputs[0]).type) == "f32[1, 2, 4, 4, 4]");
  CHECK(to_string(graph.value(a.inputs[1]).type) == "f32[2, 3, 3, 3, 4]");
  CHECK(to_string(graph.value(a.inputs[2]).type) == "f32[2, 4]");
  CHECK(print_attributes(a.attributes) ==
        "kernel=3x3 strides=1x1 dilations=1x1 pads=1x1:1x1 group=1 blocks=0->4");
  CHECK(to_string(graph.value(b.inputs[1]).type) == "f32[2, 8, 1, 1, 4]");
  CHECK(print_attributes(b.attributes) ==
        "kernel=1x1 strides=1x1 dilations=1x1 pads=0x0:0x0 group=1 blocks=4->4");
  const Tensor bias = graph.value(b.inputs[2]).tensor();
  CHECK(element_as_real(bias, 5) == 0);
  CHECK(element_as_real(bias, 7) == 0);
}

TEST_CASE("a value enters and leaves blocks once, whatever reads it") {
  Net net({2, 6, 5, 5});
  const ValueId x = net.last;
  net.conv("a", 6, window_2d(3), 6);
  const ValueId a = net.last;
  net.last = x;
  net.then("b", OpKind::MaxPool, PoolAttributes{.window = window_2d(3)});
  net.then("sum", OpKind::Add, NoAttributes{}, {a});
  const ValueId sum = net.last;
  net.then("softmax", OpKind::Softmax, SoftmaxAttributes{1, 2});
  net.graph.outputs = {net.last, sum};
  Graph blocked = net.graph;
  force(blocked, 4);
  check_same_results(net.graph, blocked);
  CHECK(operators(blocked) ==
        "Pad Reshape Transpose Conv MaxPool Add Transpose Reshape Slice Softmax");
}

TEST_CASE("convolutions of every kind give the same bits in blocks") {
  for (const std::int64_t channels : {8, 6}) {
    CAPTURE(channels);
    for (const std::int64_t stride : {1, 2}) {
      in_blocks(Net({2, channels, 7, 5}).conv("a", 9, window_2d(3, stride)).done());
      in_blocks(
          Net({2, channels, 7, 5}).conv("a", channels, window_2d(3, stride), channels).done());
    }
    in_blocks(Net({1, channels, 9})
                  .conv("a", 5, {{3}, {1}, {2}, {2}, {1}})
                  .conv("b", 7, {{1}, {1}, {1}, {0}, {0}})
                  .done());
    const Window cube{{2, 1, 3}, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}, {0, 0, 1}};
    in_blocks(Net({1, channels, 3, 4, 5}).conv("a", 6, cube).conv("b", 6, cube, 6).done());
  }
  CHECK(in_blocks(Net({1, 1, 5, 5})
                      .conv("a", 8, window_2d(3))
                      .then("pool", OpKind::GlobalMaxPool)
                      .done()) == "Conv ReduceMax Reshape");
  CHECK(in_blocks(Net({1, 16, 5, 5}).conv("a", 8, window_2d(3), 2).done()) ==
        "Reshape Transpose Conv Transpose Reshape");
  CHECK(in_blocks(Net({1, 6, 5, 5}).conv("a", 6, window_2d(1), 2).done()) == "Conv");
}

TEST_CASE("pools, parts and joins of whole blocks") {
  const PoolAttributes average{
      .window = window_2d(3, 2), .ceil_mode = false, .count_include_pad = true};
  Net net({1, 3, 8, 8});
  net.conv("a", 8, window_2d(1));
  const ValueId a = net.last;
  net.then("max", OpKind::MaxPool, PoolAttributes{.window = window_2d(3)});
  net.then("both", OpKind::Concat, AxisAttributes{1}, {a});
  net.then("half", OpKind::Slice, SliceAttributes{{0, 4, 1, 0}, {1, 1, 1, 2}, {1, 12, 6, 4}});
  net.then("pad", OpKind::Pad, PadAttributes{{0, 0, 1, 0}, {0, 0, 0, 2}},
           {net.graph.add_constant("v", make_scalar(DType::F32, 3))});
  net.then("pick", OpKind::Gather, AxisAttributes{2},
           {net.graph.add_constant("i", make_int64s({3, 0, 0, 5}))});
  net.then("rows", OpKind::ReduceMax, ReduceAttributes{{3}, true});
  CHECK(in_blocks(net.done()) ==
        "Conv MaxPool Concat Slice Pad Gather ReduceMax Transpose Reshape");
  CHECK(in_blocks(Net({1, 4, 8, 8}).then("average", OpKind::AveragePool, average).done()) ==
        "Reshape Transpose AveragePool Transpose Reshape");
}

TEST_CASE("a value joined with itself needs whole blocks in every place but the last") {
  Net net({1, 3, 8, 8});
  net.conv("a", 3, window_2d(1));
  const ValueId a = net.last;
  net.then("twice", OpKind::Concat, AxisAttributes{1}, {a}).conv("b", 6, window_2d(1), 6);
  in_blocks(net.done());  // compares the results
}

TEST_CASE("operands that broadcast: of a channel, of a place, of a number") {
  Net net({1, 3, 4, 4});
  const ValueId x = net.last;
  const ValueId place =
      add(net.graph, "place", OpKind::ReduceMax, ReduceAttributes{{1}, true}, {x});
  for (const std::int64_t channels : {8, 6}) {
    net.last = x;
    net.conv("a", channels, window_2d(1));
    const ValueId image = net.last;
    net.then("scale", OpKind::GlobalMaxPool)
        .conv("b", channels, window_2d(1))
        .then("mul", OpKind::Mul, NoAttributes{}, {image});
    net.then("bias", OpKind::Add, NoAttributes{}, {net.constant({channels, 1, 1})});
    net.then("column", OpKind::Sub, NoAttributes{}, {net.constant({4})});
    if (channels == 8) net.then("by place", OpKind::Max, NoAttributes{}, {place});
    net.then("clip", OpKind::Clip, NoAttributes{},
             {net.graph.add_constant("low", make_scalar(DType::F32, -2)), kNoValue});
    Net one = net;
    in_blocks(one.done());
  }
}

TEST_CASE("a squeeze-and-excite branch moves no element") {
  Net net({1, 3, 6, 6});
  net.conv("a", 8, window_2d(3));
  const ValueId image = net.last;
  net.then("pool", OpKind::GlobalMaxPool).conv("b", 4, window_2d(1)).conv("c", 8, window_2d(1));
  net.then("mul", OpKind::Mul, NoAttributes{}, {image})
      .then("mean", OpKind::ReduceMax, ReduceAttributes{{2, 3}, false});
  CHECK(in_blocks(net.done()) == "Conv ReduceMax Reshape Conv Conv Mul ReduceMax Reshape");
}

TEST_CASE("auto: depthwise convolutions carry a region into blocks, dense ones alone do not") {
  const LayoutOptions options{.layout = Layout::Auto, .unit = {16, 1}};
  Graph mobile = mobile_network(16, 64);
  const PassResult chosen = choose_layouts(mobile, options);
  CHECK(chosen.rewrites == 9);
  REQUIRE(chosen.notes.size() == 1);
  CHECK(chosen.notes[0].starts_with("9 nodes, 'stem' to 'pool', in blocks of 16 channels: "));
  CHECK(operators(mobile) == "Conv Relu Conv Relu Conv Relu Conv Add ReduceMax Reshape Reshape");

  Graph dense = Net({1, 64, 32, 32})
                    .conv("a", 64, window_2d(3))
                    .then("r", OpKind::Relu)
                    .conv("b", 64, window_2d(3))
                    .done();
  CHECK(choose_layouts(dense, options).rewrites == 0);
  CHECK(operators(dense) == "Conv Relu Conv");
}

TEST_CASE("without vectors, or asked for plain, nothing changes") {
  Graph graph = mobile_network(16, 16);
  const std::string before = print(graph);
  CHECK(choose_layouts(graph, {.layout = Layout::Auto, .unit = {1, 1}}).rewrites == 0);
  CHECK(choose_layouts(graph, {.layout = Layout::Plain, .unit = {16, 1}}).notes.empty());
  CHECK(print(graph) == before);
}

TEST_CASE("the notes name what a convolution lacks") {
  Graph graph = Net({1, 6, 5, 5}).conv("a", 6, window_2d(1), 2).done();
  CHECK(force(graph, 4).notes ==
        std::vector<std::string>{"'a' plain: groups of 3 to 3 channels do not fit in blocks of 4"});
}

TEST_CASE("layouts have names") {
  for (const Layout layout : {Layout::Auto, Layout::Plain, Layout::Blocked})
    CHECK(layout_from_string(to_string(layout)) == layout);
  CHECK_FALSE(layout_from_string("nchw"));
}

TEST_CASE(
    "random graphs keep their results in blocks of any length, in single nodes and in fused "
    "groups") {
  int rewritten = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Graph graph = random_graph(seed, {.most_nodes = 16, .most_elements = 512});
    CAPTURE(print(graph));
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) inputs.push_back(random_integers(graph.value(id).type, seed));
    const std::vector<Tensor> expected = evaluate_graph(graph, inputs);
    Graph blocked = graph;
    rewritten += force(blocked, std::int64_t{2} << seed % 3).rewrites > 0 ? 1 : 0;
    REQUIRE(verify(blocked) == std::vector<std::string>{});
    const std::vector<Tensor> got = evaluate_graph(blocked, inputs);
    const std::vector<Tensor> fused =
        evaluate_groups(blocked, fuse(make_fusion_graph(blocked)).groups, inputs);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      REQUIRE(elements_as_real(got[i]) == elements_as_real(expected[i]));  // 0 equals -0
      REQUIRE(*fused[i].bytes == *got[i].bytes);
    }
  }
  CHECK(rewritten > 60);
}

}  // namespace polyte::graph
