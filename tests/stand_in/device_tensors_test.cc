// Runs on tensors that are on the device, in the caller's streams: in C++ and through the C API.
#include <doctest/doctest.h>

#include <cstring>

#include "runtime/cuda_device.h"
#include "runtime/polyte_runtime.h"
#include "tests/runtime/temp_dir.h"
#include "tests/stand_in/digits.h"

using namespace polyte;
using namespace polyte::runtime;
using namespace polyte::testing;

namespace {

// A caller with memory and streams of his own.
class Caller {
 public:
  Caller() : device_(CudaDevice::open(stand_in_device())), stream_(make_cuda_stream(device_)) {}

  CudaStreamHandle stream() const { return stream_.get(); }
  const CudaDevicePtr& device() const { return device_; }

  CudaMemory upload(const Tensor& tensor) const {
    CudaMemory memory = make_cuda_memory(device_, tensor.bytes(), "a test");
    device_->driver().copy_to_device(memory.get(), tensor.data(), tensor.raw().size(), stream());
    return memory;
  }
  CudaMemory room_for(const Tensor& tensor) const {
    return make_cuda_memory(device_, tensor.bytes(), "a test");
  }
  std::vector<Tensor> download(const CudaMemory& memory, const Tensor& like) const {
    std::vector<Tensor> result;
    result.emplace_back(like.dtype(), like.shape());
    device_->driver().copy_to_host(result[0].data(), memory.get(), result[0].raw().size(),
                                   stream());
    device_->driver().stream_synchronize(stream());
    return result;
  }

 private:
  CudaDevicePtr device_;
  CudaStream stream_;
};

TensorView on_device(const Tensor& like, const CudaMemory& memory) {
  return {like.dtype(), like.shape(),
          reinterpret_cast<void*>(memory.get())};  // NOLINT: the device's
}

// What a session with one input and one output needs for a run in the caller's stream.
struct OneRun {
  const Caller& caller;
  const Session& gpu;
  std::vector<Tensor> inputs = inputs_of(gpu, 1);
  CudaMemory memory = caller.upload(inputs[0]);
  Tensor output{gpu.outputs()[0].dtype, gpu.outputs()[0].shape};
  CudaMemory room = caller.room_for(output);

  OneRun(const Caller& who, const Session& session) : caller(who), gpu(session) {}
  void enqueue() const {
    gpu.run_on(std::vector{on_device(inputs[0], memory)}, std::vector{on_device(output, room)},
               caller.stream());
  }
};

}  // namespace

TEST_CASE("runs go through the caller's stream, each set of tensors with a graph of its own") {
  stand_in().reset();
  const Caller caller;
  const Session cpu = cpu_session(), gpu = gpu_session();
  CHECK(gpu.device().device_type == POLYTE_DL_CUDA);
  CHECK(cpu.device().device_type == POLYTE_DL_CPU);
  const std::vector<Tensor> a = inputs_of(cpu, 1), b = inputs_of(cpu, 2);
  const std::vector<Tensor> expected_a = cpu.run(a), expected_b = cpu.run(b);
  const CudaMemory xa = caller.upload(a[0]), xb = caller.upload(b[0]);
  const CudaMemory ya = caller.room_for(expected_a[0]), yb = caller.room_for(expected_b[0]);
  const std::vector<TensorView> in_a{on_device(a[0], xa)}, in_b{on_device(b[0], xb)};
  const std::vector<TensorView> out_a{on_device(expected_a[0], ya)},
      out_b{on_device(expected_b[0], yb)};
  for (int round = 0; round < 3; ++round) {
    gpu.run_on(in_a, out_a, caller.stream());
    gpu.run_on(in_b, out_b, caller.stream());
  }
  CHECK(stand_in().calls("kernel") == 0);  // nobody has waited yet
  CHECK(same_bits(caller.download(ya, expected_a[0]), expected_a));
  CHECK(same_bits(caller.download(yb, expected_b[0]), expected_b));
  gpu.wait();
  CHECK(stand_in().calls("cuStreamBeginCapture_v2") == 2);
  CHECK(stand_in().calls("cuGraphLaunch") == 6);
}

TEST_CASE("runs in two streams share memory: the second waits for the first") {
  stand_in().reset();
  const Caller one, two;
  const Session cpu = cpu_session(), gpu = gpu_session();
  const std::vector<Tensor> a = inputs_of(cpu, 1), b = inputs_of(cpu, 2);
  const std::vector<Tensor> expected_a = cpu.run(a), expected_b = cpu.run(b);
  const CudaMemory xa = one.upload(a[0]), xb = two.upload(b[0]);
  const CudaMemory ya = one.room_for(expected_a[0]), yb = two.room_for(expected_b[0]);
  gpu.run_on(std::vector{on_device(a[0], xa)}, std::vector{on_device(expected_a[0], ya)},
             one.stream());
  gpu.run_on(std::vector{on_device(b[0], xb)}, std::vector{on_device(expected_b[0], yb)},
             two.stream());
  CHECK(same_bits(two.download(yb, expected_b[0]), expected_b));
  CHECK(same_bits(one.download(ya, expected_a[0]), expected_a));
  // And one on the processor's tensors for both.
  gpu.run_on(std::vector{on_device(a[0], xa)}, std::vector{on_device(expected_a[0], ya)},
             one.stream());
  CHECK(same_bits(gpu.run(b), expected_b));
  gpu.wait();
  CHECK(same_bits(one.download(ya, expected_a[0]), expected_a));
}

TEST_CASE("what a run in a stream found is told who waits") {
  stand_in().reset();
  const Caller caller;
  const Session gpu = gpu_session();
  const OneRun one(caller, gpu);
  stand_in().fail("kernel", 2, 719);
  one.enqueue();
  CHECK(problem_of([&] { gpu.wait(); }) ==
        "6: a run on stand-in failed: cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED (unspecified "
        "launch failure)");
  CHECK(problem_of([&] { gpu.wait(); }).starts_with("6: this session cannot be used any more"));
  stand_in().reset();
}

TEST_CASE("nothing follows a run in a stream that has broken the session") {
  stand_in().reset();
  const Caller caller;
  const Session gpu = gpu_session();
  const OneRun one(caller, gpu);
  one.enqueue();
  // The driver itself goes on: it is the session that must not.
  stand_in().fail("cuEventSynchronize", 1, 719);
  const std::int64_t launches = stand_in().calls("cuGraphLaunch");
  CHECK(problem_of([&] { gpu.run(one.inputs); }) ==
        "6: a run on stand-in failed: cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED (unspecified "
        "launch failure)");
  CHECK(stand_in().calls("cuGraphLaunch") == launches);
  CHECK(problem_of([&] { gpu.wait(); }).starts_with("6: this session cannot be used any more"));
  caller.download(one.room, one.output);  // before the memory goes away
  stand_in().reset();
}

TEST_CASE("a replay is the last run once more") {
  stand_in().reset();
  const Session gpu = gpu_session();
  CHECK(problem_of([&] { gpu.replay(); }) == "2: nothing to replay: nothing has run yet");
  gpu.run(inputs_of(gpu, 1));
  const std::int64_t copies = stand_in().calls("cuMemcpyHtoDAsync_v2"),
                     kernels = stand_in().calls("kernel");
  gpu.replay();
  CHECK(stand_in().calls("cuMemcpyHtoDAsync_v2") == copies);
  CHECK(stand_in().calls("kernel") == 2 * kernels);
  const Session cpu = cpu_session();
  CHECK(problem_of([&] { cpu.replay(); }) ==
        "2: nothing to replay: the artifact runs on a processor");
  CHECK(problem_of([&] { cpu.run_on({}, {}, nullptr); }) ==
        "2: the artifact runs on a processor: it takes no tensors in a GPU's memory");
}

TEST_CASE("the C API: tensors of DLPack on the device") {
  stand_in().reset();
  const TempDir dir;
  write_artifact(dir.file("digits.polyte"), digits_for_gpu());
  const polyte_runtime_api* api = polyte_runtime_get_api(1);
  polyte_session* session = nullptr;
  polyte_problem* problem = nullptr;
  CHECK(api->session_open_on_device(dir.file("digits.polyte").c_str(), 7,
                                    stand_in_device().driver.c_str(), &session, &problem) == 6);
  CHECK(std::string(api->problem_text(problem)) == "no CUDA device 7: the driver knows of 2");
  api->problem_free(problem);
  REQUIRE(api->session_open_on_device(dir.file("digits.polyte").c_str(), 0,
                                      stand_in_device().driver.c_str(), &session, &problem) == 0);
  CHECK(api->session_device(session).device_type == POLYTE_DL_CUDA);
  CHECK(api->session_device(nullptr).device_type == POLYTE_DL_CPU);

  const Caller caller;
  const Session cpu = cpu_session();
  const std::vector<Tensor> a = inputs_of(cpu, 1), expected = cpu.run(a);
  const CudaMemory x = caller.upload(a[0]), y = caller.room_for(expected[0]);
  const TensorView in_view = on_device(a[0], x), out_view = on_device(expected[0], y);
  polyte_dl_tensor in = to_dlpack(in_view), out = to_dlpack(out_view);
  CHECK(api->session_run_on_device(session, &in, 1, &out, 1, caller.stream(), &problem) == 3);
  CHECK(std::string(api->problem_text(problem)) ==
        "tensor is on device type 1, number 0, expected CUDA device 0");
  api->problem_free(problem);
  in.device = out.device = {POLYTE_DL_CUDA, 0};
  CHECK(api->session_run_on_device(session, &in, 1, &out, 1, caller.stream(), &problem) == 0);
  CHECK(api->session_wait(session, &problem) == 0);
  CHECK(same_bits(caller.download(y, expected[0]), expected));
  in.device.device_id = 3;
  CHECK(api->session_run_on_device(session, &in, 1, &out, 1, caller.stream(), &problem) == 3);
  api->problem_free(problem);
  CHECK(api->session_run_on_device(nullptr, &in, 1, &out, 1, nullptr, nullptr) == 2);
  CHECK(api->session_wait(nullptr, nullptr) == 2);
  api->session_close(session);
}

TEST_CASE("a session that is closed waits for the runs in callers' streams") {
  stand_in().reset();
  const Caller caller;
  const Session cpu = cpu_session();
  const std::vector<Tensor> a = inputs_of(cpu, 1), expected = cpu.run(a);
  const CudaMemory x = caller.upload(a[0]), y = caller.room_for(expected[0]);
  {
    const Session gpu = gpu_session();
    gpu.run_on(std::vector{on_device(a[0], x)}, std::vector{on_device(expected[0], y)},
               caller.stream());
  }
  CHECK(same_bits(caller.download(y, expected[0]), expected));
}
