// STFT from ONNX: every form of its operands against the sum that defines it, and refusals.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "graph/evaluate.h"
#include "support/error.h"
#include "tests/frontend/model_builder.h"

using namespace polyte;
using graph::OpKind;
using onnx::TensorProto;
using testing::List;
using testing::ModelBuilder;

namespace {

enum class Operand { None, Constant, Input };

struct Transform {
  List signal;  // its shape
  std::int64_t step = 1;
  std::int64_t window = 0;  // its length
  Operand window_is = Operand::None;
  std::int64_t length = 0;  // 0: not given
  bool onesided = true;
  int type = TensorProto::DOUBLE;
};

std::vector<double> numbers(std::int64_t count, double seed) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(std::sin(seed + 1.7 * static_cast<double>(i * i % 97)));
  return result;
}

ModelBuilder model_of(const Transform& t) {
  ModelBuilder b(17);
  b.input("x", t.signal, t.type);
  b.integers("step", {}, {t.step});
  if (t.length != 0) b.integers("length", {1}, {t.length});
  if (t.window_is == Operand::Input) b.input("window", {t.window}, t.type);
  if (t.window_is == Operand::Constant) {
    const std::vector<double> elements = numbers(t.window, 5);
    std::string bytes(elements.size() * sizeof(double), '\0');
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    b.tensor("window", {t.window}, TensorProto::DOUBLE).set_raw_data(bytes);
  }
  onnx::NodeProto& node = b.node(
      "STFT",
      {"x", "step", t.window_is == Operand::None ? "" : "window", t.length == 0 ? "" : "length"},
      {"y"}, "stft");
  if (!t.onesided) testing::set(node, "onesided", std::int64_t{0});
  b.output("y");
  return b;
}

graph::Graph import_graph(const ModelBuilder& b) {
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".").graph;
}

std::string refusal_of(const ModelBuilder& b, ExitStatus expected) {
  try {
    import_graph(b);
  } catch (const UserError& error) {
    CHECK(error.status() == expected);
    return error.what();
  }
  return "no error";
}

std::string refusal_of(const Transform& t, ExitStatus expected = ExitStatus::InvalidInput) {
  return refusal_of(model_of(t), expected);
}

// As ONNX defines it, [batch, frames, frequencies, 2].
std::vector<double> by_definition(const Transform& t, const std::vector<double>& signal,
                                  const std::vector<double>& window, std::int64_t length) {
  const std::int64_t batches = t.signal[0], samples = t.signal[1],
                     parts = t.signal.size() == 3 ? t.signal[2] : 1,
                     frames = (samples - length) / t.step + 1,
                     frequencies = t.onesided ? length / 2 + 1 : length;
  std::vector<double> result;
  for (std::int64_t row = 0; row < batches * frames * frequencies; ++row) {
    const std::int64_t k = row % frequencies, frame = row / frequencies % frames,
                       batch = row / frequencies / frames;
    std::complex<double> sum = 0;
    for (std::int64_t n = 0; n < length; ++n) {
      const auto at = static_cast<std::size_t>((batch * samples + frame * t.step + n) * parts);
      const std::complex<double> x(signal[at], parts == 2 ? signal[at + 1] : 0);
      const double angle =
          -2 * 3.14159265358979323846 * static_cast<double>(k * n) / static_cast<double>(length);
      sum += x * window[static_cast<std::size_t>(n)] * std::polar(1.0, angle);
    }
    result.insert(result.end(), {sum.real(), sum.imag()});
  }
  return result;
}

void check_values(const Transform& t) {
  const graph::Graph graph = import_graph(model_of(t));
  const std::int64_t length = t.window_is != Operand::None ? t.window
                              : t.length != 0              ? t.length
                                                           : t.signal[1];
  const std::vector<double> window = t.window_is == Operand::None
                                         ? std::vector<double>(static_cast<std::size_t>(length), 1)
                                         : numbers(length, 5);
  std::vector<graph::Tensor> operands;
  for (const graph::ValueId id : graph.inputs) {
    const graph::TensorType& type = graph.value(id).type;
    operands.push_back(graph::make_tensor(
        type,
        graph.value(id).name == "window" ? window : numbers(graph::element_count(type.shape), 2)));
  }
  const std::vector<double> expected =
      by_definition(t, graph::elements_as_real(operands[0]), window, length);
  const std::vector<double> got = graph::elements_as_real(evaluate_graph(graph, operands)[0]);
  REQUIRE(got.size() == expected.size());
  const double tolerance = t.type == TensorProto::DOUBLE ? 1e-11 : 1e-5;
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got[i] - expected[i]) <= tolerance);
  }
}

std::vector<OpKind> kinds_of(const graph::Graph& graph) {
  std::vector<OpKind> result;
  for (const graph::Node& node : graph.nodes) result.push_back(node.op);
  return result;
}

}  // namespace

TEST_CASE("STFT: real and complex signals, windows, odd and even frames, all or half of it") {
  for (const List& signal : {List{2, 23, 1}, List{2, 23}, List{1, 23, 2}})
    for (const bool onesided : {true, false})
      for (const std::int64_t length : {1, 2, 7, 8})
        for (const Operand window : {Operand::None, Operand::Constant, Operand::Input}) {
          CAPTURE(signal.size());
          CAPTURE(onesided);
          CAPTURE(length);
          CAPTURE(static_cast<int>(window));
          check_values({signal, 3, length, window, length, onesided});
        }
}

TEST_CASE("STFT: a frame is as long as the window, without one as the signal") {
  check_values({{1, 12, 1}, 4, 5, Operand::Constant});
  check_values({{1, 12, 2}, 4, 5, Operand::Input});
  check_values({{2, 12, 1}, 4});
  check_values({.signal = {2, 12, 1}, .step = 5, .length = 6, .type = TensorProto::FLOAT});
}

TEST_CASE("STFT: one frame where the step is longer than the signal") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Transform t{.signal = {1, 12, 1}, .step = most, .length = 6};
  const graph::Graph graph = import_graph(model_of(t));
  CHECK(graph.value(graph.outputs[0]).type.shape == graph::Dims{1, 1, 4, 2});
  CHECK(graph.nodes[0].attributes == graph::Attributes(graph::StftAttributes{12}));
  check_values(t);
}

TEST_CASE("STFT: a constant window is in the matrix, the result a view of the product") {
  const graph::Graph constant = import_graph(model_of({{1, 12, 1}, 4, 5, Operand::Constant}));
  CHECK(kinds_of(constant) == std::vector{OpKind::STFT, OpKind::Reshape});
  const graph::Graph given = import_graph(model_of({{1, 12}, 4, 5, Operand::Input}));
  CHECK(kinds_of(given) ==
        std::vector{OpKind::Reshape, OpKind::Reshape, OpKind::Mul, OpKind::STFT, OpKind::Reshape});
}

TEST_CASE("STFT: a step or length that is known only at run time is named") {
  ModelBuilder b(17);
  b.input("x", {1, 12, 1});
  b.input("s", {}, TensorProto::INT64);
  b.node("STFT", {"x", "s"}, {"y"}, "stft");
  b.output("y");
  CHECK(refusal_of(b, ExitStatus::Unsupported) ==
        "m.onnx: 1 of 1 node is not supported\n"
        "  'stft' (STFT, opset 17)    input 1 (the frame step) is 's', known only at run time; "
        "it is supported as a constant, or as an input given with --value");
  b.graph().mutable_node(0)->clear_input();
  b.integers("step", {}, {1});
  for (const char* name : {"x", "step", "", "s"}) b.graph().mutable_node(0)->add_input(name);
  CHECK(refusal_of(b, ExitStatus::Unsupported).find("input 3 (the frame length)") !=
        std::string::npos);
}

TEST_CASE("STFT: operands that do not fit") {
  const std::string at = "m.onnx: node 'stft' (STFT, opset 17): ";
  CHECK(refusal_of({.signal = {1, 12, 3}}) ==
        at + "input 0 has shape [1, 12, 3], expected [batch, samples] and perhaps a last dimension "
             "of 1 or 2");
  CHECK(refusal_of({.signal = {12}}) ==
        at + "input 0 has shape [12], expected [batch, samples] and perhaps a last dimension of 1 "
             "or 2");
  CHECK(refusal_of({.signal = {1, 12, 1}, .step = 0}) ==
        at + "input 1 (the frame step) is 0, expected one positive number");
  CHECK(refusal_of({.signal = {1, 12, 1}, .length = -4}) ==
        at + "input 3 (the frame length) is -4, expected one positive number");
  CHECK(refusal_of({.signal = {1, 12, 1}, .length = 13}) ==
        at + "a frame has 13 samples, expected 1 to 12, as many as the signal has");
  CHECK(refusal_of({{1, 12, 1}, 1, 5, Operand::Input, 6}) ==
        at + "input 2 (the window) is f64[5], expected f64[6]");
  CHECK(refusal_of({.signal = {1, 12, 1},
                    .window = 5,
                    .window_is = Operand::Constant,
                    .type = TensorProto::FLOAT}) ==
        at + "input 2 (the window) is f64[5], expected f32[5]");
  CHECK(refusal_of({.signal = {1, 5000, 1}}, ExitStatus::Unsupported)
            .find("transforms 5000 points: supported are 1 to 4096") != std::string::npos);
  CHECK(refusal_of({.signal = {1, 12, 1}, .type = TensorProto::INT32}) ==
        at + "input 0 is i32, expected a floating-point type");
}
