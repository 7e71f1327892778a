// Sessions on a GPU, which the stand-in driver plays: the bits of this processor, through graphs
// that are captured once and replayed.
#include "runtime/session.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/count_allocations.h"
#include "tests/stand_in/digits.h"

using namespace polyte;
using namespace polyte::runtime;
using namespace polyte::testing;

TEST_CASE("a network has the processor's bits, captured once and replayed") {
  stand_in().reset();
  const Session cpu = cpu_session(), gpu = gpu_session();
  for (int seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const std::vector<Tensor> inputs = inputs_of(cpu, seed);
    CHECK(same_bits(gpu.run(inputs), cpu.run(inputs)));
  }
  CHECK(stand_in().calls("cuStreamBeginCapture_v2") == 1);
  CHECK(stand_in().calls("cuGraphLaunch") == 3);
  // Each step's kernels were started once, and have run three times.
  CHECK(stand_in().calls("kernel") == 3 * stand_in().calls("cuLaunchKernel"));
}

TEST_CASE("a run after the first allocates nothing, neither here nor on the device") {
  const Session gpu = gpu_session();
  const std::vector<Tensor> inputs = inputs_of(gpu, 1), outputs = gpu.run(inputs);
  const std::vector<TensorView> in{inputs[0].view()}, out{outputs[0].view()};
  stand_in().reset();
  const std::int64_t before = allocations_of_this_thread();
  for (int i = 0; i < 3; ++i) gpu.run(in, out);
  // With a sanitizer the driver's library allocates by this program's functions, too.
  if (!POLYTE_IS_SANITIZED) CHECK(allocations_of_this_thread() == before);
  for (const char* call : {"cuMemAlloc_v2", "cuMemAllocHost_v2", "cuStreamCreate", "cuLaunchKernel",
                           "cuModuleLoadData"})
    CHECK(stand_in().calls(call) == 0);
}

TEST_CASE("sizes that stay open: a graph is captured again where they change") {
  const Session cpu = cpu_session(Size::Open), gpu = gpu_session(Size::Open);
  stand_in().reset();
  for (const std::int64_t batch : {1, 3, 3, 2, 8, 8}) {
    CAPTURE(batch);
    const std::vector<Tensor> inputs = inputs_of(cpu, 7, batch);
    CHECK(same_bits(gpu.run(inputs), cpu.run(inputs)));
  }
  CHECK(stand_in().calls("cuStreamBeginCapture_v2") == 4);
}

TEST_CASE("runs in several threads have memory and graphs of their own") {
  const Session cpu = cpu_session(), gpu = gpu_session();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Tensor> inputs = inputs_of(cpu, t);
      for (int round = 0; round < 3; ++round)
        wrong += same_bits(gpu.run(inputs), cpu.run(inputs)) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a profile has every step") {
  const Session gpu = gpu_session();
  const std::vector<Tensor> inputs = inputs_of(gpu, 1), outputs = gpu.run(inputs);
  const std::vector<TensorView> in{inputs[0].view()}, out{outputs[0].view()};
  const RunProfile profile = gpu.profile(in, out);
  REQUIRE(profile.steps.size() == gpu.steps().size());
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    CHECK(profile.steps[i].step == i);
    CHECK(profile.steps[i].nanoseconds() >= 0);
  }
}

TEST_CASE("a session gives back all it took") {
  const std::int64_t before = stand_in().allocated();
  {
    const Session gpu = gpu_session();
    gpu.run(inputs_of(gpu, 1));
    CHECK(stand_in().allocated() > before);
  }
  CHECK(stand_in().allocated() == before);
}

TEST_CASE("the emulator without a driver: the same bits, every access checked") {
  const Session cpu = cpu_session(Size::Open);
  const Session emulated(Artifact::from_parts(copy_of(digits_for_gpu(Size::Open))),
                         {.emulator = EmulatorOptions{}});
  for (const std::int64_t batch : {1, 3}) {
    const std::vector<Tensor> inputs = inputs_of(cpu, 5, batch);
    CHECK(same_bits(emulated.run(inputs), cpu.run(inputs)));
  }
  CHECK(emulated.launch_counts().size() >= 9);
  ArtifactParts parts = copy_of(digits_for_gpu());
  std::erase_if(parts.device,
                [](const DeviceCode& code) { return code.architecture == kEmulated; });
  for (DeviceModule& module : parts.manifest.device) std::erase(module.architectures, kEmulated);
  CHECK(problem_of([&] {
          Session(Artifact::from_parts(std::move(parts)), {.emulator = EmulatorOptions{}});
        }) ==
        "7: artifact 'in memory': has no code for the emulator; polyte compile --emulate adds it");
  CHECK(problem_of([&] {
          Session(Artifact::from_parts(copy_of(digits_for_cpu())), {.emulator = EmulatorOptions{}});
        }) == "7: artifact 'in memory': is built for " + digits_for_cpu().manifest.arch +
                  ", the emulator takes code for a GPU");
}
