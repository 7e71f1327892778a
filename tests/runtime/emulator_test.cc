// The emulator on kernels written by hand, as compiled code calls it: every kind of fault is found, whatever the order
// of the threads, and what is right passes.
#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "runtime/emulator.h"

using namespace polyte::runtime;

namespace {

using Thread = polyte_emulated_thread;

// What each thread of the launch runs.
std::function<void(Thread&)> body;

void enter(Thread* thread, const void* const*) { body(*thread); }

void write(Thread& t, float* at, float value) {
  t.touch(&t, at, sizeof *at, 1, 0);
  *at = value;
}
float read(Thread& t, const float* at) {
  t.touch(&t, at, sizeof *at, 0, 1);
  return *at;
}
void meet(Thread& t, std::int64_t place = 0) { t.meet(&t, 0, place); }
void meet_warp(Thread& t) { t.meet(&t, 1, 0); }
float* shared(Thread& t) { return static_cast<float*>(t.shared); }

struct Run {
  std::vector<float> x = std::vector<float>(64, 1), y = std::vector<float>(64, 0);
  std::vector<std::string> faults;
  int code = 0;
  std::vector<LaunchCounts> counts;
};

Run run(const std::function<void(Thread&, Run&)>& kernel, EmulatorOptions options = {}, std::int64_t threads = 64,
        std::int64_t blocks = 1) {
  Run result;
  body = [&](Thread& t) { kernel(t, result); };
  Emulator emulator(options);
  emulator.add_memory("x", result.x.data(), 256, Emulator::Defined::Yes);
  emulator.add_memory("y", result.y.data(), 256, Emulator::Defined::No);
  const polyte_host host = emulator.host();
  const polyte_launch launch{"k", threads, 256, 0, enter};
  const std::int64_t grid[3] = {blocks, 1, 1};
  result.code = host.launch(host.self, &launch, grid, nullptr);
  result.faults = emulator.faults();
  result.counts = emulator.counts();
  return result;
}

// The fault that is found in every order.
std::string fault_of(const std::function<void(Thread&, Run&)>& kernel, std::int64_t threads = 64,
                     std::int64_t blocks = 1) {
  for (const EmulatorOptions& options :
       {EmulatorOptions{ThreadOrder::Backward}, EmulatorOptions{ThreadOrder::Random, 7},
        EmulatorOptions{ThreadOrder::Random, 8, true}})
    CHECK_FALSE(run(kernel, options, threads, blocks).faults.empty());
  const Run result = run(kernel, {}, threads, blocks);
  CHECK(result.code != 0);
  return result.faults.empty() ? "" : result.faults.front();
}

// Element t through shared memory, to the thread at the other end.
void turned(Thread& t, Run& r, const std::function<void()>& between) {
  write(t, shared(t) + t.thread, read(t, &r.x[static_cast<std::size_t>(t.thread)]) + static_cast<float>(t.thread));
  between();
  write(t, &r.y[static_cast<std::size_t>(t.thread)], read(t, shared(t) + 63 - t.thread));
}

}  // namespace

TEST_CASE("threads meet at a barrier, in any order") {
  for (const ThreadOrder order : {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Random}) {
    const Run result = run([](Thread& t, Run& r) { turned(t, r, [&] { meet(t); }); }, {order, 3, true}, 64, 1);
    CHECK(result.faults == std::vector<std::string>{});
    CHECK(result.code == 0);
    CHECK(result.y[0] == 64);
    CHECK(result.y[63] == 1);
    REQUIRE(result.counts.size() == 1);
    CHECK(result.counts[0].block_barriers == 1);
    CHECK(result.counts[0].blocks == 1);
  }
}

// The first of a pair reads what nobody has written yet, the second races with who has.
TEST_CASE("a missing barrier is found, although values may be right") {
  const std::string fault = fault_of([](Thread& t, Run& r) { turned(t, r, [] {}); });
  CHECK(fault.find("shared memory + 252: never written") != std::string::npos);
  CHECK(fault_of([](Thread& t, Run& r) {
          if (t.thread == 0) write(t, &r.x[0], 2);
          (void)read(t, &r.x[0]);
        }).find("no barrier between them") != std::string::npos);
}

TEST_CASE("a barrier of the warp orders a warp alone") {
  CHECK(run([](Thread& t, Run& r) {
          write(t, shared(t) + t.thread, 1);
          meet_warp(t);
          write(t, &r.y[static_cast<std::size_t>(t.thread)], read(t, shared(t) + (t.thread ^ 1)));
        }).faults == std::vector<std::string>{});
  CHECK(fault_of([](Thread& t, Run& r) { turned(t, r, [&] { meet_warp(t); }); }).find("race") != std::string::npos);
}

TEST_CASE("writing what another thread reads is a race as well") {
  CHECK(fault_of([](Thread& t, Run& r) {
          (void)read(t, &r.x[static_cast<std::size_t>(63 - t.thread)]);
          write(t, &r.x[static_cast<std::size_t>(t.thread)], 2);
        }).find("race") != std::string::npos);
}

TEST_CASE("blocks of one launch do not see each other") {
  CHECK(fault_of([](Thread& t, Run& r) { write(t, &r.y[0], static_cast<float>(t.block[0])); }, 1, 2)
            .find("of the same launch") != std::string::npos);
  CHECK(run([](Thread& t, Run&) { write(t, shared(t), 1); }, {}, 1, 4).faults == std::vector<std::string>{});
}

TEST_CASE("outside of all memory, and never written") {
  CHECK(fault_of([](Thread& t, Run& r) { write(t, r.y.data() + 64, 1); }, 1).find("outside of all memory") !=
        std::string::npos);
  CHECK(fault_of([](Thread& t, Run& r) { (void)read(t, r.y.data()); }, 1).find("y + 0: never written") !=
        std::string::npos);
  CHECK(fault_of([](Thread& t, Run&) { (void)read(t, shared(t) + 3); }, 1).find("never written") != std::string::npos);
  // Nor what another block has left there.
  CHECK(fault_of(
            [](Thread& t, Run&) {
              if (t.block[0] == 0) write(t, shared(t), 1);
              (void)read(t, shared(t));
            },
            1, 2)
            .find("never written") != std::string::npos);
}

TEST_CASE("threads that do not come to a barrier, or to another one") {
  CHECK(fault_of([](Thread& t, Run&) {
          if (t.thread < 40) meet(t);
        }).find("or some have ended") != std::string::npos);
  CHECK(fault_of([](Thread& t, Run&) { meet(t, t.thread < 32 ? 0 : 1); }).find("different barriers") !=
        std::string::npos);
}

TEST_CASE("a fault ends its launch, and the next one runs") {
  std::vector<float> y(4);
  Emulator emulator;
  emulator.add_memory("y", y.data(), 16, Emulator::Defined::No);
  const polyte_host host = emulator.host();
  const polyte_launch launch{"k", 1, 0, 0, enter};
  const std::int64_t grid[3] = {2, 1, 1};
  body = [&](Thread& t) { write(t, y.data() + 4 * t.block[0], 5); };
  CHECK(host.launch(host.self, &launch, grid, nullptr) != 0);
  body = [&](Thread& t) { write(t, y.data() + t.block[0], 7); };
  CHECK(host.launch(host.self, &launch, grid, nullptr) == 0);
  CHECK(y[1] == 7);
  CHECK(emulator.faults().size() == 1);
  REQUIRE(emulator.counts().size() == 1);
  CHECK(emulator.counts()[0].launches == 2);
}
