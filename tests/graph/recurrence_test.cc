// Recurrence against the equations of ONNX, element by element in plain loops: all cells, in both
// directions, with and without each optional operand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/evaluate.h"
#include "graph/op.h"
#include "graph/passes/unroll_recurrences.h"

using namespace polyte;
using namespace polyte::graph;

namespace {

constexpr std::int64_t kSteps = 4, kBatch = 3, kHidden = 5;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double cut(double x) { return std::clamp(x, -0.25, 0.25); }

// Operands by position; an empty one is absent.
struct Case {
  RecurrenceAttributes attributes;
  std::vector<double> operands[7];

  std::int64_t gates() const {
    return attributes.cell == Cell::Rnn ? 1 : attributes.cell == Cell::Gru ? 3 : 4;
  }
};

Case drawn(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto numbers = [&](std::int64_t count) {
    std::vector<double> all;
    while (std::ssize(all) < count)
      all.push_back(static_cast<double>(random() % 2001) / 1000.0 - 1);
    return all;
  };
  const auto maybe = [&](std::int64_t count) {
    return random() % 2 == 0 ? numbers(count) : std::vector<double>();
  };
  Case c;
  c.attributes.cell = static_cast<Cell>(seed % 3);
  c.attributes.backwards = random() % 2 == 0;
  c.attributes.reset_after = random() % 2 == 0;
  c.attributes.clip = random() % 3 == 0 ? 0.25 : 0;
  c.attributes.activations = {{OpKind::Sigmoid}, {OpKind::Tanh}, {OpKind::Tanh}};
  c.attributes.activations.resize(static_cast<std::size_t>(seed % 3 + 1));
  c.operands[0] = numbers(kSteps * kBatch * c.gates() * kHidden);
  c.operands[1] = numbers(kHidden * c.gates() * kHidden);
  c.operands[2] = maybe(kBatch * kHidden);
  if (c.attributes.cell == Cell::Lstm) c.operands[3] = maybe(kBatch * kHidden);
  if (random() % 2 == 0)
    for (std::int64_t b = 0; b < kBatch; ++b)
      c.operands[4].push_back(static_cast<double>(random() % (kSteps + 1)));
  if (c.attributes.cell == Cell::Lstm) c.operands[5] = maybe(3 * kHidden);
  if (c.attributes.cell == Cell::Gru) c.operands[6] = maybe(kHidden);
  return c;
}

// h of all steps, the last h, the last c: of one sequence at a time.
struct Reference {
  const Case& c;
  std::int64_t b = 0;
  std::vector<double> h, cells;

  double at(std::size_t operand, std::int64_t i, double otherwise = 0) const {
    const std::vector<double>& values = c.operands[operand];
    return values.empty() ? otherwise : values.at(static_cast<std::size_t>(i));
  }
  double x(std::int64_t t, std::int64_t gate, std::int64_t n) const {
    return at(0, ((t * kBatch + b) * c.gates() + gate) * kHidden + n);
  }
  double product(const std::vector<double>& state, std::int64_t gate, std::int64_t n) const {
    double sum = 0;
    for (std::int64_t k = 0; k < kHidden; ++k)
      sum += state.at(static_cast<std::size_t>(k)) * at(1, (k * c.gates() + gate) * kHidden + n);
    return sum;
  }
  double f(double value) const { return sigmoid(c.attributes.clip > 0 ? cut(value) : value); }
  double g(double value) const { return std::tanh(c.attributes.clip > 0 ? cut(value) : value); }

  void step(std::int64_t t) {
    const std::vector<double> before = h, cells_before = cells;
    const auto sum = [&](std::int64_t gate, std::size_t n) {
      const auto i = static_cast<std::int64_t>(n);
      return x(t, gate, i) + product(before, gate, i);
    };
    std::vector<double> gated = before;  // by the reset gate
    for (std::size_t n = 0; n < h.size() && c.attributes.cell == Cell::Gru; ++n)
      gated[n] *= f(sum(1, n));
    for (std::size_t n = 0; n < h.size(); ++n) {
      const auto i = static_cast<std::int64_t>(n);
      if (c.attributes.cell == Cell::Rnn) {
        h[n] = f(sum(0, n));
      } else if (c.attributes.cell == Cell::Gru) {
        const double z = f(sum(0, n)), bias = at(6, i);
        const double inner = c.attributes.reset_after
                                 ? f(sum(1, n)) * (product(before, 2, i) + bias)
                                 : product(gated, 2, i) + bias;
        h[n] = (1 - z) * g(x(t, 2, i) + inner) + z * before[n];
      } else {
        const double in = f(sum(0, n) + at(5, i) * cells_before[n]);
        const double forget = f(sum(2, n) + at(5, 2 * kHidden + i) * cells_before[n]);
        cells[n] = forget * cells_before[n] + in * g(sum(3, n));
        h[n] = f(sum(1, n) + at(5, kHidden + i) * cells[n]) * std::tanh(cells[n]);
      }
    }
  }
};

std::vector<std::vector<double>> expected(const Case& c) {
  std::vector<std::vector<double>> all(3);
  all[0].assign(static_cast<std::size_t>(kSteps * kBatch * kHidden), 0);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    Reference of{c, b, {}, {}};
    for (std::int64_t n = 0; n < kHidden; ++n) {
      of.h.push_back(of.at(2, b * kHidden + n));
      of.cells.push_back(of.at(3, b * kHidden + n));
    }
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const std::int64_t t = c.attributes.backwards ? kSteps - 1 - i : i;
      if (static_cast<double>(t) >= of.at(4, b, kSteps)) continue;
      of.step(t);
      std::ranges::copy(of.h, all[0].begin() + (t * kBatch + b) * kHidden);
    }
    all[1].insert(all[1].end(), of.h.begin(), of.h.end());
    all[2].insert(all[2].end(), of.cells.begin(), of.cells.end());
  }
  if (c.attributes.cell != Cell::Lstm) all.pop_back();
  return all;
}

// The names are those of the operator's own iterators and buffers.
std::vector<Tensor> computed(const Case& c, bool is_unrolled) {
  const std::int64_t columns = c.gates() * kHidden;
  const Dims shapes[] = {{kSteps, kBatch, columns},
                         {kHidden, columns},
                         {kBatch, kHidden},
                         {kBatch, kHidden},
                         {kBatch},
                         {3 * kHidden},
                         {kHidden}};
  const char* names[] = {"i", "j", "h", "c", "b", "n", "k"};
  Graph graph;
  std::vector<ValueId> inputs;
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    inputs.push_back(kNoValue);
    if (c.operands[i].empty()) continue;
    operands.push_back(make_tensor({i == 4 ? DType::I64 : DType::F64, shapes[i]}, c.operands[i]));
    inputs.back() = graph.add_input(names[i], operands.back().type);
  }
  std::vector<std::string> outputs = {"y", "s"};
  if (c.attributes.cell == Cell::Lstm) outputs.emplace_back("m");
  const NodeId node = graph.add_node("n", OpKind::Recurrence, c.attributes, inputs, outputs);
  graph.outputs = graph.node(node).outputs;
  if (is_unrolled) {
    CHECK(unroll_recurrences(graph).rewrites == 1);
    CHECK(std::ranges::none_of(graph.nodes,
                               [](const Node& each) { return each.op == OpKind::Recurrence; }));
  }
  return evaluate_graph(graph, operands);
}

}  // namespace

TEST_CASE("recurrences: the equations of RNN, GRU and LSTM, each operand there or not") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const Case c = drawn(seed);
    const std::vector<std::vector<double>> wanted = expected(c);
    for (const bool is_unrolled : {false, true}) {
      CAPTURE(is_unrolled);
      const std::vector<Tensor> got = computed(c, is_unrolled);
      REQUIRE(got.size() == wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(std::ranges::equal(elements_as_real(got[i]), wanted[i],
                                 [](double a, double b) { return std::fabs(a - b) < 1e-12; }));
    }
  }
}

TEST_CASE("recurrences: what does not fit is said") {
  const auto refusal = [](const TensorType& x, const TensorType& weight,
                          std::vector<GateActivation> activations = {{OpKind::Sigmoid}, {}}) {
    Graph graph;
    const ValueId inputs[] = {graph.add_input("x", x), graph.add_input("w", weight)};
    const Node node{"n",
                    OpKind::Recurrence,
                    RecurrenceAttributes{.cell = Cell::Gru, .activations = std::move(activations)},
                    {inputs[0], inputs[1]},
                    {}};
    const auto types = infer_types(graph, node);
    return types ? std::string() : types.error().reason;
  };
  CHECK(refusal({DType::F32, {2, 3, 12}}, {DType::F32, {4, 12}}).empty());
  CHECK(refusal({DType::F32, {2, 3, 12}}, {DType::F32, {4, 16}}) ==
        "input 1 has shape [4, 16], expected [4, 12]");
  CHECK(refusal({DType::F32, {2, 3, 12}}, {DType::F64, {4, 12}}) == "input 1 is f64, expected f32");
  CHECK(refusal({DType::F32, {12}}, {DType::F32, {4, 12}}) ==
        "input 0 has rank 1, expected at least 3");
  CHECK(refusal({DType::F32, {2, 3, 12}}, {DType::F32, {4, 12}}, {{OpKind::Relu}}) ==
        "has 1 activations, expected 2");
}
