// A network that is settled by what it is run on: compiled once per kind of inputs, right for each.
#include "driver/package/specialised_model.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "driver/api/polyte.h"
#include "runtime/fill.h"
#include "tests/frontend/model_builder.h"
#include "tests/frontend/temporary_folder.h"

using namespace polyte;
using onnx::TensorProto;
using runtime::NamedTensors;
using runtime::Tensor;

namespace {

// y = ReduceSum(x, axes) * w, x of [N, 4]: N is open, axes are known when it runs.
struct ModelFile {
  testing::TemporaryFolder folder;
  std::filesystem::path path = folder.path / "m.onnx";
  ModelFile() {
    testing::ModelBuilder b;
    b.input("x", {1, 4})
        .mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("N");
    b.input("axes", {1}, TensorProto::INT64);
    b.floats("w", {1}, {2});
    testing::set(b.node("ReduceSum", {"x", "axes"}, {"s"}), "keepdims", std::int64_t{0});
    b.node("Mul", {"s", "w"}, {"y"});
    b.output("y");
    std::ofstream(path, std::ios::binary) << b.bytes();
  }
};

NamedTensors inputs_of(std::int64_t rows, std::int64_t axis, float first = 1) {
  NamedTensors inputs;
  inputs.emplace_back("axes", Tensor(DType::I64, {1}));
  inputs.back().second.as<std::int64_t>()[0] = axis;
  inputs.emplace_back("x", Tensor(DType::F32, {rows, 4}));
  for (float& element : inputs.back().second.as<float>()) element = first++;
  return inputs;
}

std::vector<float> elements(const NamedTensors& outputs) {
  const auto all = outputs.front().second.as<float>();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("specialised model: one compilation a shape and a value, and the right result for each") {
  const ModelFile file;
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Naive;
  driver::SpecialisedModel model(file.path, options, codegen::detect_host(), {}, {.threads = 1});
  CHECK(elements(model.run(inputs_of(2, 1))) == std::vector<float>{20, 52});
  CHECK(elements(model.run(inputs_of(2, 1, 0))) == std::vector<float>{12, 44});
  CHECK(model.compilations() == 1);
  CHECK(elements(model.run(inputs_of(2, 0))) == std::vector<float>{12, 16, 20, 24});
  CHECK(model.compilations() == 2);
  CHECK(elements(model.run(inputs_of(1, 0))) == std::vector<float>{2, 4, 6, 8});
  CHECK(model.compilations() == 3);
  CHECK(elements(model.run(inputs_of(2, 1))) == std::vector<float>{20, 52});
  CHECK(model.compilations() == 3);
}

TEST_CASE("specialised model: a few are kept, the one that was not used for longest goes") {
  const ModelFile file;
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Naive;
  driver::SpecialisedModel model(file.path, options, codegen::detect_host(), {},
                                 {.threads = 1, .most_kept = 2});
  for (const std::int64_t rows : {1, 2, 1, 3, 1}) model.run(inputs_of(rows, 1));
  CHECK(model.compilations() == 3);
  model.run(inputs_of(2, 1));
  CHECK(model.compilations() == 4);
}

TEST_CASE("specialised model: from several threads each kind is compiled once") {
  const ModelFile file;
  driver::ModelOptions options;
  options.scheduler = driver::Scheduler::Naive;
  driver::SpecialisedModel model(file.path, options, codegen::detect_host(), {}, {.threads = 1});
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        right += elements(model.run(inputs_of(1 + (t + i) % 2, 1)))[0] == 20;
    });
  }
  threads.clear();
  CHECK(right == 80);
  CHECK(model.compilations() == 2);
}

TEST_CASE("specialised model: what lacks or is not known is said") {
  const ModelFile file;
  driver::SpecialisedModel model(file.path, {}, codegen::detect_host(), {});
  NamedTensors inputs = inputs_of(2, 1);
  inputs.emplace_back("z", Tensor(DType::F32, {1}));
  CHECK_THROWS_WITH(model.run(inputs), "input 'z': there is no such input");
  inputs = inputs_of(2, 1);
  inputs.erase(inputs.begin());
  CHECK_THROWS_WITH(
      model.run(inputs),
      "m.onnx: 1 of 2 nodes are not supported\n"
      "  's' (ReduceSum, opset 13)    input 1 (the axes) is 'axes', known only at run time; "
      "it is supported as a constant, or as an input given with --value");
}

TEST_CASE("api: a network is compiled by its first run") {
  const ModelFile file;
  const auto network =
      api::Network::open(file.path.string(), {.scheduler = api::Scheduler::Naive}, 1);
  REQUIRE(static_cast<bool>(network));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int64_t> axes = {-1};
  const auto outputs = network->run({api::tensor<const float>("x", {2, 4}, x),
                                     api::tensor<const std::int64_t>("axes", {1}, axes)});
  REQUIRE(static_cast<bool>(outputs));
  REQUIRE(outputs->size() == 1);
  CHECK(outputs->front().shape == std::vector<std::int64_t>{2});
  CHECK(network->compilations() == 1);
  const auto refused = network->run({api::tensor<const float>("x", {3, 4}, x)});
  REQUIRE(!refused);
  CHECK(refused.error().messages.front() == "input 'x' has 8 elements, its shape [3, 4] says 12");
}
