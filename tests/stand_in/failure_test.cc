// What fails on a GPU is said in a line, with an exit status, and leaves the process and other
// sessions as they are.
#include <doctest/doctest.h>

#include "tests/stand_in/digits.h"

using namespace polyte;
using namespace polyte::runtime;
using namespace polyte::testing;

namespace {

constexpr int kLost = -1;  // what the call does is lost, and nobody is notified

Session session_of(ArtifactParts parts, const CudaOptions& options = stand_in_device()) {
  return Session(Artifact::from_parts(std::move(parts)), {.cuda = options});
}

DeviceCode& emulated_code(ArtifactParts& parts, std::size_t number) {
  std::vector<DeviceCode*> found;
  for (DeviceCode& code : parts.device)
    if (code.architecture == "sm_0") found.push_back(&code);
  return *found.at(number);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no driver, a library that is none, and no such device") {
  const auto open = [](const CudaOptions& options) {
    return problem_of([&] { session_of(copy_of(digits_for_gpu()), options); });
  };
  CHECK(open({"/no/such/libcuda.so", 0}) ==
        "6: no CUDA driver: /no/such/libcuda.so: cannot open shared object file: No such file or "
        "directory; a GPU's "
        "code runs where NVIDIA's driver is installed");
  CHECK(open({"libz.so.1", 0}) ==
        "6: CUDA driver libz.so.1 has no cuGetErrorName: expected the driver of CUDA 12 or later");
  CHECK(open({stand_in_device().driver, 5}) == "6: no CUDA device 5: the driver knows of 2");
  stand_in().fail("cuInit", 1, 100);
  CHECK(open(stand_in_device()) ==
        "6: cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)");
}

TEST_CASE("a launch that fails: the session cannot be used any more, the next one can") {
  stand_in().reset();
  const Session gpu = gpu_session();
  const std::vector<Tensor> inputs = inputs_of(gpu, 1);
  gpu.run(inputs);
  stand_in().fail("kernel", 4, 719);
  CHECK(problem_of([&] { gpu.run(inputs); }) ==
        "6: a run on stand-in failed: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (unspecified "
        "launch failure)");
  CHECK(
      contains(problem_of([&] { gpu.run(inputs); }),
               "6: this session cannot be used any more, open it again: a run on stand-in failed"));
  stand_in().reset();
  CHECK(problem_of([&] { gpu.run(inputs); }) != "");
  const Session other = gpu_session();
  CHECK(same_bits(other.run(inputs), cpu_session().run(inputs)));
}

TEST_CASE("every call of a first run may fail: it is named, and all memory is given back") {
  for (const char* call : {"cuMemcpyHtoDAsync_v2", "cuStreamBeginCapture_v2", "cuLaunchKernel",
                           "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
                           "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
    CAPTURE(call);
    stand_in().reset();
    const std::int64_t before = stand_in().allocated();
    {
      const Session gpu = gpu_session();
      const std::vector<Tensor> inputs = inputs_of(gpu, 1);
      stand_in().fail(call, 1, 401);
      CHECK(problem_of([&] { gpu.run(inputs); }) ==
            std::string("6: a run on stand-in failed: ") + call +
                ": CUDA_ERROR_ILLEGAL_STATE (the operation cannot be performed in the present "
                "state)");
    }
    CHECK(stand_in().allocated() == before);
  }
  stand_in().reset();
}

TEST_CASE("every call of opening a session may fail") {
  for (const char* call :
       {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemAlloc_v2", "cuMemAllocHost_v2",
        "cuMemHostGetDevicePointer_v2", "cuStreamCreate", "cuModuleLoadData", "cuModuleGetFunction",
        "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize", "cuEventCreate"}) {
    CAPTURE(call);
    stand_in().reset();
    const std::int64_t before = stand_in().allocated();
    stand_in().fail(call, 1, 401);
    CHECK(contains(problem_of([&] { gpu_session(); }),
                   std::string(call) + ": CUDA_ERROR_ILLEGAL_STATE"));
    CHECK(stand_in().allocated() == before);
  }
  stand_in().reset();
}

TEST_CASE("memory that runs out") {
  stand_in().reset();
  const std::int64_t taken = stand_in().allocated();
  stand_in().limit(taken + 1000);
  CHECK(contains(problem_of([&] { gpu_session(); }),
                 "bytes of memory for constants: cuMemAlloc_v2: "
                 "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"));
  CHECK(stand_in().allocated() == taken);
  stand_in().reset();
  // A run of large sizes does not fit, those of small ones still do.
  const Session cpu = cpu_session(Size::Open), gpu = gpu_session(Size::Open);
  const std::vector<Tensor> small = inputs_of(cpu, 1, 1), large = inputs_of(cpu, 1, 8);
  gpu.run(small);
  stand_in().limit(stand_in().allocated());
  const std::string problem = problem_of([&] { gpu.run(large); });
  CHECK(contains(problem, "5: GPU: no "));
  CHECK(contains(problem, "bytes of memory for the arena where batch is 8: cuMemAlloc_v2"));
  CHECK(same_bits(gpu.run(small), cpu.run(small)));
  stand_in().reset();
  CHECK(same_bits(gpu.run(large), cpu.run(large)));
}

TEST_CASE("device code that is not what the manifest says") {
  stand_in().reset();
  ArtifactParts parts = copy_of(digits_for_gpu());
  emulated_code(parts, 1).bytes[1] ^= std::byte{0x40};
  CHECK(
      contains(problem_of([&] { session_of(std::move(parts)); }),
               "7: artifact 'in memory': device code 'k1' for sm_0 is not taken: cuModuleLoadData: "
               "CUDA_ERROR_INVALID_IMAGE (device kernel image is invalid)"));
  parts = copy_of(digits_for_gpu());
  std::swap(emulated_code(parts, 0).bytes, emulated_code(parts, 1).bytes);
  CHECK(contains(problem_of([&] { session_of(std::move(parts)); }),
                 "7: artifact 'in memory': its device code has no kernel 'k0_launch0'"));
  parts = copy_of(digits_for_gpu());
  ++parts.manifest.device[0].kernels[0].threads;
  const Session gpu = session_of(std::move(parts));
  CHECK(problem_of([&] { gpu.run(inputs_of(gpu, 1)); }) ==
        "7: artifact 'in memory': kernels.so starts 'k0_launch0' otherwise than its manifest says");
}

TEST_CASE("no code for the device") {
  ArtifactParts parts = copy_of(digits_for_gpu());
  std::erase_if(parts.device, [](const DeviceCode& code) { return code.architecture != "sm_90a"; });
  for (DeviceModule& module : parts.manifest.device) module.architectures = {"sm_90a"};
  CHECK(problem_of([&] { session_of(std::move(parts)); }) ==
        "7: artifact 'in memory': device code 'k0' is for sm_90a, this GPU is sm_0");
}

TEST_CASE("what the emulator finds is a launch that failed: an input that never came") {
  stand_in().reset();
  const Session gpu = gpu_session();
  const std::vector<Tensor> inputs = inputs_of(gpu, 1);
  stand_in().fail("cuMemcpyHtoDAsync_v2", 1, kLost);
  CHECK(contains(problem_of([&] { gpu.run(inputs); }), "CUDA_ERROR_LAUNCH_FAILED"));
  CHECK(contains(stand_in().fault(), "never written"));
  stand_in().reset();
}

TEST_CASE("results that are not waited for are seen by the bits") {
  stand_in().reset();
  const Session cpu = cpu_session(), gpu = gpu_session();
  const std::vector<Tensor> inputs = inputs_of(gpu, 1), expected = cpu.run(inputs);
  std::vector<Tensor> outputs;
  outputs.emplace_back(expected[0].dtype(), expected[0].shape());
  const std::vector<TensorView> in{inputs[0].view()}, out{outputs[0].view()};
  stand_in().fail("cuStreamSynchronize", 1, kLost);
  gpu.run(in, out);
  CHECK_FALSE(same_bits(outputs, expected));
  gpu.run(in, out);
  INFO(stand_in().fault());
  CHECK(same_bits(outputs, expected));
}
