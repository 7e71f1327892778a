#include "tests/driver/integer_network.h"

#include <algorithm>

#include "frontend/onnx_import.h"
#include "runtime/fill.h"
#include "runtime/session.h"
#include "tests/frontend/model_builder.h"

namespace polyte::testing {

namespace {

std::vector<float> small_numbers(std::size_t count, int seed) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>((static_cast<int>(i) * seed + static_cast<int>(i) / 7) % 5 - 2);
  return numbers;
}

}  // namespace

graph::Graph integer_network() {
  ModelBuilder b;
  b.input("x", {1, 3, 8, 8});
  b.floats("w1", {8, 3, 3, 3}, small_numbers(8 * 27, 7));
  b.floats("b1", {8}, small_numbers(8, 3));
  set(b.node("Conv", {"x", "w1", "b1"}, {"c1"}, "conv1"), "pads", List{1, 1, 1, 1});
  b.node("Relu", {"c1"}, {"r1"}, "relu1");
  auto& pool = b.node("MaxPool", {"r1"}, {"p"}, "pool");
  set(pool, "kernel_shape", List{2, 2});
  set(pool, "strides", List{2, 2});
  b.floats("w2", {8, 8, 3, 3}, small_numbers(8 * 72, 11));
  set(b.node("Conv", {"p", "w2"}, {"c2"}, "conv2"), "pads", List{1, 1, 1, 1});
  b.node("Add", {"c2", "p"}, {"a"}, "add");
  b.node("Relu", {"a"}, {"r2"}, "relu2");
  b.node("GlobalAveragePool", {"r2"}, {"m"}, "mean");
  b.node("Flatten", {"m"}, {"f"}, "flat");
  b.floats("w3", {8, 4}, small_numbers(32, 5));
  b.node("MatMul", {"f", "w3"}, {"y"}, "fc");
  b.output("y");
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".").graph;
}

runtime::Tensor run_once(runtime::ArtifactParts parts, int threads) {
  const runtime::Session session(runtime::Artifact::from_parts(std::move(parts)),
                                 {.threads = threads});
  std::vector<runtime::Tensor> inputs;
  for (const runtime::TensorSpec& spec : session.inputs()) {
    inputs.emplace_back(spec.dtype, spec.shape);
    runtime::fill(inputs.back(), {runtime::Fill::Kind::Int, 1}, spec.name);
  }
  return session.run(inputs).front().clone();
}

bool same_bits(const runtime::Tensor& a, const runtime::Tensor& b) {
  return std::ranges::equal(a.raw(), b.raw());
}

}  // namespace polyte::testing
