// What a driver says of its GPU, and the file that carries it elsewhere.
#include <doctest/doctest.h>

#include <fstream>

#include "driver/api/polyte.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/machine_file.h"
#include "runtime/cuda_machine.h"
#include "support/gpu_machines.h"
#include "tests/runtime/temp_dir.h"
#include "tests/stand_in/digits.h"

using namespace polyte;
using namespace polyte::testing;

namespace {

Machine stand_in_h100() {
  runtime::CudaOptions options = stand_in_device();
  options.device = 1;
  return runtime::machine_of(*runtime::CudaDevice::open(options));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a GPU of the table: its rates, and what the driver says") {
  const Machine here = stand_in_h100(), table = *gpu_machine("h100");
  CHECK(here.cpu == "h100");
  CHECK(here.model_name == "stand-in H100");
  CHECK(here.assumed.empty());
  CHECK(here.gpu->compute_capability == 90);
  CHECK(here.gpu->specific);
  CHECK(here.gpu->multiprocessors == table.gpu->multiprocessors);
  CHECK(here.gpu->shared_block_bytes == table.gpu->shared_block_bytes);
  CHECK(here.gpu->bf16_tensor_fma_a_cycle == table.gpu->bf16_tensor_fma_a_cycle);
  CHECK(here.gpu->clock_ghz == doctest::Approx(1.98));
  CHECK(here.gpu->memory_gb_a_second == doctest::Approx(3352.3).epsilon(0.001));
  CHECK(here.cores == 132);
  CHECK(here.vector_bits == 128);
}

TEST_CASE("a GPU that is older than all of the table") {
  CHECK(problem_of([] { runtime::machine_of(*runtime::CudaDevice::open(stand_in_device())); }) ==
        "4: GPU stand-in is of compute capability 0.0, expected 8.0 or later");
}

TEST_CASE("cuda:native is the GPU, of the driver, that is named") {
  runtime::CudaOptions options = stand_in_device();
  options.device = 1;
  const codegen::Target here = driver::target_named("cuda:native", options);
  CHECK(here.kind == TargetKind::Cuda);
  CHECK(here.machine.model_name == "stand-in H100");
  options.device = 5;
  CHECK(problem_of([&] { driver::target_named("cuda:native", options); }) ==
        "6: no CUDA device 5: the driver knows of 2");
}

TEST_CASE("cuda:native of the C++ API is the GPU that is named") {
  api::ModelOptions options;
  options.target = "cuda:native";
  options.gpu = {1, stand_in_device().driver};
  const auto report = api::compile_model("examples/digits/digits.onnx", "", options);
  REQUIRE(report);
  CHECK(report->groups.at(0).script.find("132 threads") != std::string::npos);
  options.gpu.device = 5;
  const auto none = api::compile_model("examples/digits/digits.onnx", "", options);
  REQUIRE_FALSE(none);
  CHECK(static_cast<int>(none.error().status) == 6);
  CHECK(none.error().messages ==
        std::vector<std::string>{"no CUDA device 5: the driver knows of 2"});
}

TEST_CASE("a machine file says the same, there and back") {
  const TempDir dir;
  const std::string path = dir.file("gpu.json"), text = driver::machine_to_json(stand_in_h100());
  std::ofstream(path) << text;
  const Machine read = driver::machine_from_file(path);
  CHECK(driver::machine_to_json(read) == text);
  CHECK(read.cores == 132);
  CHECK(read.l2.bytes == 52428800);
  std::ofstream(path) << replaced(replaced(text, "\"clock_ghz\": 1.98", "\"clock_mhz\": 1980"),
                                  "\"multiprocessors\": 132", "\"multiprocessors\": -1");
  CHECK(problem_of([&] { driver::machine_from_file(path); }) ==
        "3: " + path + ": 'multiprocessors' is -1, expected a whole number above 0\n" + path +
            ": 'clock_ghz' is missing, expected a number above 0\n" + path +
            ": 'clock_mhz' is not known");
  std::ofstream(path) << "[1]";
  CHECK(problem_of([&] {
          driver::machine_from_file(path);
        }).starts_with("3: " + path + ": expected a JSON object"));
  CHECK(problem_of([&] { driver::machine_from_file(dir.file("none.json")); }).starts_with("3: "));
}
