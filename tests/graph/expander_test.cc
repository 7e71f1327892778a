// Expansion: what the Programs of groups look like, and what they compute.
#include "graph/expander.h"

#include <limits>

#include <doctest/doctest.h>
#include "graph/evaluate.h"
#include "graph/ops/ops.h"
#include "ir/program_text.h"

using namespace polyte;
using namespace polyte::graph;

namespace {

ValueId add(Graph& graph, OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
  const NodeId id = graph.add_node("n", op, std::move(attributes), std::move(inputs), {"v"});
  return graph.node(id).outputs[0];
}

// All nodes as one group; the text of the Program.
std::string program_of(Graph& graph, ValueId output) {
  graph.outputs = {output};
  std::vector<NodeId> all;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) all.push_back(id);
  return ir::print(expand(graph, all, "group").program);
}

std::vector<double> evaluated(Graph& graph, ValueId output, const std::vector<Tensor>& inputs) {
  graph.outputs = {output};
  return elements_as_real(evaluate_graph(graph, inputs)[0]);
}

Tensor counting(Dims shape) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<double>(i);
  return make_tensor({DType::F32, std::move(shape)}, elements);
}

ConvAttributes same_3x3() { return {{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}}; }

// ConvTranspose in one dimension as a scatter: two channels in, two out, in one or two groups.
struct Scatter {
  std::int64_t kernel, stride, dilation, pad, more, group;
  std::int64_t extent(std::int64_t inputs) const {
    return stride * (inputs - 1) + more + (kernel - 1) * dilation + 1 - 2 * pad;
  }
  std::vector<double> apply(const std::vector<double>& x, const std::vector<double>& w,
                            std::int64_t inputs) const {
    const std::int64_t outputs = extent(inputs), in_group = 2 / group, out_group = 2 / group;
    std::vector<double> y(static_cast<std::size_t>(2 * outputs), 0);
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t f = 0; f < out_group; ++f)
        for (std::int64_t i = 0; i < inputs; ++i)
          for (std::int64_t k = 0; k < kernel; ++k) {
            const std::int64_t o = i * stride + k * dilation - pad,
                               to = c / in_group * out_group + f;
            if (o < 0 || o >= outputs) continue;
            y[static_cast<std::size_t>(to * outputs + o)] +=
                x[static_cast<std::size_t>(c * inputs + i)] *
                w[static_cast<std::size_t>((c * out_group + f) * kernel + k)];
          }
    return y;
  }
  ConvAttributes attributes() const {
    return {{{kernel}, {stride}, {dilation}, {pad}, {pad}}, group, {more}};
  }
};

std::vector<Scatter> scatters() {
  std::vector<Scatter> all;
  for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
    for (std::int64_t stride = 1; stride <= 4; ++stride)
      for (std::int64_t dilation = 1; dilation <= 2; ++dilation)
        for (std::int64_t pad = 0; pad <= 1; ++pad)
          for (std::int64_t more = 0; more < stride; ++more)
            for (std::int64_t group = 1; group <= 2; ++group)
              if (pad <= (kernel - 1) * dilation)
                all.push_back({kernel, stride, dilation, pad, more, group});
  return all;
}

}  // namespace

TEST_CASE(
    "expander: a transposed convolution scatters what each input gives, for any stride, dilation "
    "and padding") {
  constexpr std::int64_t kInputs = 5;
  for (const Scatter& scatter : scatters()) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::F32, {1, 2, kInputs}});
    const ValueId w =
        graph.add_input("weight", {DType::F32, {2, 2 / scatter.group, scatter.kernel}});
    const ValueId y = add(graph, OpKind::ConvTranspose, scatter.attributes(), {x, w, kNoValue});
    const Tensor data = counting({1, 2, kInputs}),
                 weight = counting({2, 2 / scatter.group, scatter.kernel});
    INFO("kernel " << scatter.kernel << " stride " << scatter.stride << " dilation "
                   << scatter.dilation << " pad " << scatter.pad << " more " << scatter.more
                   << " group " << scatter.group);
    CHECK(evaluated(graph, y, {data, weight}) ==
          scatter.apply(elements_as_real(data), elements_as_real(weight), kInputs));
  }
}

TEST_CASE("expander: a transposed convolution with a stride divides nothing") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {1, 4, 8}});
  const ValueId w = graph.add_input("weight", {DType::F32, {4, 6, 3}});
  const ConvAttributes attributes{{{3}, {2}, {1}, {1}, {1}}, 1, {1}};
  const std::string text =
      program_of(graph, add(graph, OpKind::ConvTranspose, attributes, {x, w, kNoValue}));
  CHECK(text.find('%') == std::string::npos);
  CHECK(text.find("acc[n, co, w] = sum[ci in 0..4] x[n, ci, w] * weight[ci, co, 1]") !=
        std::string::npos);
  CHECK(text.find("acc_2[n, co, w] = sum[ci in 0..4, kw in 0..2] (x[n, ci, w - kw + 1] else 0) * "
                  "weight[ci, co, 2*kw]") != std::string::npos);
}

TEST_CASE("expander: a convolution and its tail are two lines with the same iterators") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {1, 4, 8, 8}});
  const ValueId w = graph.add_input("weight", {DType::F32, {6, 4, 3, 3}});
  const ValueId b = graph.add_input("bias", {DType::F32, {6}});
  const ValueId y = add(graph, OpKind::Conv, same_3x3(), {x, w, b});
  CHECK(program_of(graph, add(graph, OpKind::Relu, NoAttributes{}, {y})) ==
        "program group()\n  in    x: f32[1, 4, 8, 8]\n  in    weight: f32[6, 4, 3, 3]\n"
        "  in    bias: f32[6]\n  out   v_1: f32[1, 6, 8, 8]\n  temp  acc: f32[1, 6, 8, 8]\n"
        "\n  acc[n, co, h, w] = sum[ci in 0..4, kh in 0..3, kw in 0..3] (x[n, ci, h + kh - 1, kw + "
        "w - 1] else 0) * weight[co, ci, kh, kw]  for n in 0..1, co in 0..6, h in 0..8, w in 0..8\n"
        "  v_1[n, co, h, w] "
        "= max(acc[n, co, h, w] + bias[co], 0)  for n in 0..1, co in 0..6, h in 0..8, w in 0..8\n");
}

TEST_CASE("expander: names of the Program's own words and iterators get an underscore") {
  Graph graph;
  const ValueId x = graph.add_input("sum", {DType::F32, {2}});
  const ValueId w = graph.add_input("w", {DType::F32, {2}});
  const std::string text = program_of(graph, add(graph, OpKind::Add, NoAttributes{}, {x, w}));
  CHECK(text.find("v[i] = sum_[i] + w_[i]") != std::string::npos);
  CHECK(ir::print(ir::parse_program(text, "text")) == text);
}

TEST_CASE("expander: an element-wise chain is one statement, a value read twice is stored") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {4}});
  const ValueId half = graph.add_constant("half", make_scalar(DType::F32, 0.5));
  const ValueId scaled = add(graph, OpKind::Mul, NoAttributes{}, {x, half});
  const ValueId e = add(graph, OpKind::Exp, NoAttributes{}, {scaled});
  CHECK(program_of(graph, e).find("v_1[i] = exp(x[i] * 0.5)") != std::string::npos);
  const ValueId twice = add(graph, OpKind::Mul, NoAttributes{}, {e, e});
  const std::string text = program_of(graph, twice);
  CHECK(text.find("temp  v_1: f32[4]") != std::string::npos);
  CHECK(text.find("v_2[i] = v_1[i] * v_1[i]") != std::string::npos);
}

TEST_CASE("expander: a broadcast operand is not computed again for every element") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {1, 4}});
  const ValueId y = graph.add_input("y", {DType::F32, {3, 4}});
  const ValueId e = add(graph, OpKind::Exp, NoAttributes{}, {x});
  const std::string text = program_of(graph, add(graph, OpKind::Add, NoAttributes{}, {e, y}));
  CHECK(text.find("temp  v: f32[1, 4]") != std::string::npos);
  CHECK(text.find("v[0, j] + y[i, j]") != std::string::npos);
}

TEST_CASE("expander: sums of f16 are kept in f32 and rounded once") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F16, {4}});
  const ValueId sum = add(graph, OpKind::ReduceSum, ReduceAttributes{{0}, false}, {x});
  // In f16, 2048 + 1 stays 2048; in f32 the three ones arrive: 2051, of which the nearest f16
  // is 2052.
  CHECK(evaluated(graph, sum, {make_tensor({DType::F16, {4}}, {2048, 1, 1, 1})}) ==
        std::vector<double>{2052});
}

TEST_CASE("expander: untouched dimensions of a reshape keep plain subscripts") {
  const ir::Affine i = ir::Affine::symbol("i"), j = ir::Affine::symbol("j"),
                   k = ir::Affine::symbol("k");
  CHECK(reshaped_subscripts({i, j}, {2, 12}, {2, 3, 4}) ==
        Subscripts{i, ir::floor_div(j, 4), ir::mod(j, 4)});
  CHECK(reshaped_subscripts({i, j, k}, {2, 3, 4}, {6, 4}) == Subscripts{i * 3 + j, k});
  CHECK(reshaped_subscripts({i, j, k}, {2, 1, 4}, {1, 2, 4, 1})[1] == i);
}

TEST_CASE("expander: reshapes of every kind keep the order of elements") {
  const std::vector<Dims> shapes = {{24},      {2, 12},      {4, 6},     {3, 8},
                                    {2, 3, 4}, {4, 1, 3, 2}, {1, 24, 1}, {6, 2, 2}};
  for (const Dims& from : shapes) {
    for (const Dims& to : shapes) {
      Graph graph;
      const ValueId x = graph.add_input("x", {DType::F32, from});
      const Tensor data = counting(from);
      CHECK(evaluated(graph, add(graph, OpKind::Reshape, ShapeAttributes{to}, {x}), {data}) ==
            elements_as_real(data));
    }
  }
}

TEST_CASE("expander: a reflected border has one statement a part") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {4}});
  const ValueId y = add(graph, OpKind::Pad, PadAttributes{{2}, {1}, PadMode::Reflect}, {x});
  CHECK(evaluated(graph, y, {counting({4})}) == std::vector<double>{2, 1, 0, 1, 2, 3, 2});
  const ValueId z = add(graph, OpKind::Pad, PadAttributes{{-1}, {2}, PadMode::Edge}, {x});
  CHECK(evaluated(graph, z, {counting({4})}) == std::vector<double>{1, 2, 3, 3, 3});
}

TEST_CASE("expander: an average counts what lies inside, or the padding too") {
  const auto average = [](bool count_padding) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::F32, {1, 1, 3}});
    const PoolAttributes pool{{{3}, {1}, {1}, {1}, {1}}, false, count_padding, false};
    return evaluated(graph, add(graph, OpKind::AveragePool, pool, {x}),
                     {make_tensor({DType::F32, {1, 1, 3}}, {6, 6, 6})});
  };
  CHECK(average(false) == std::vector<double>{6, 6, 6});
  CHECK(average(true) == std::vector<double>{4, 6, 4});
}

TEST_CASE("expander: the divisor of an average never counts what ceil_mode adds") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {1, 1, 3}});
  const PoolAttributes pool{{{2}, {2}, {1}, {0}, {0}}, true, true, false};
  CHECK(evaluated(graph, add(graph, OpKind::AveragePool, pool, {x}),
                  {make_tensor({DType::F32, {1, 1, 3}}, {2, 4, 5})}) == std::vector<double>{3, 5});
}

TEST_CASE("expander: the index of a maximum is never one of the padding") {
  Graph graph;
  const TensorType type{DType::I8, {1, 2, 3}};
  const ValueId x = graph.add_input("x", type);
  const PoolAttributes pool{{{2}, {2}, {1}, {1}, {0}}, false, false, false};
  const NodeId id = graph.add_node("pool", OpKind::MaxPool, pool, {x}, {"y", "where"});
  graph.outputs = graph.node(id).outputs;
  const auto results =
      evaluate_graph(graph, std::vector{make_tensor(type, {-128, 5, 5, -128, 1, 2})});
  CHECK(elements_as_real(results[0]) == std::vector<double>{-128, 5, -128, 2});
  CHECK(elements_as_int(results[1]) == Dims{0, 1, 3, 5});
}

TEST_CASE("expander: the greatest element, first or last of equals") {
  for (bool last : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::F32, {2, 4}});
    const ValueId y = add(graph, OpKind::ArgMax, ArgAttributes{1, false, last}, {x});
    const Tensor data = make_tensor({DType::F32, {2, 4}}, {1, 7, 7, 2, 5, 5, 5, 5});
    CHECK(evaluated(graph, y, {data}) ==
          (last ? std::vector<double>{2, 3} : std::vector<double>{1, 0}));
  }
}

TEST_CASE("expander: grouped and depthwise convolutions read their own channels") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {1, 4, 1}});
  const ValueId w = graph.add_constant(
      "weight", make_tensor({DType::F32, {4, 2, 1}}, {1, 10, 2, 20, 3, 30, 4, 40}));
  const ConvAttributes conv{{{1}, {1}, {1}, {0}, {0}}, 2, {}};
  const Tensor data = make_tensor({DType::F32, {1, 4, 1}}, {1, 2, 3, 4});
  CHECK(evaluated(graph, add(graph, OpKind::Conv, conv, {x, w, kNoValue}), {data}) ==
        std::vector<double>{21, 42, 129, 172});
}

TEST_CASE("expander: a log of a sum of exponentials is stable, and infinite where all is") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {2, 2}});
  const ValueId y = add(graph, OpKind::ReduceLogSumExp, ReduceAttributes{{1}, false}, {x});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto result = evaluated(
      graph, y, {make_tensor({DType::F32, {2, 2}}, {1000, 1000, -kInfinity, -kInfinity})});
  CHECK(result[0] == doctest::Approx(1000.6931));
  CHECK(result[1] == -kInfinity);
}

TEST_CASE("expander: empty tensors have a writer and no instances") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::F32, {0, 3}});
  const ValueId w = graph.add_input("y", {DType::F32, {3, 2}});
  CHECK(evaluated(graph, add(graph, OpKind::MatMul, NoAttributes{}, {x, w}),
                  {counting({0, 3}), counting({3, 2})})
            .empty());
  Graph sums;
  const ValueId z = sums.add_input("z", {DType::F32, {2, 0}});
  CHECK(evaluated(sums, add(sums, OpKind::ReduceSum, ReduceAttributes{{1}, false}, {z}),
                  {counting({2, 0})}) == std::vector<double>{0, 0});
}
