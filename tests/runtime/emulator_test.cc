// The emulator on kernels written by hand, as compiled code calls it: every kind of fault is found,
// whatever the order of the threads, and what is right passes.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/emulator.h"

#if defined(POLYTE_ADDRESS_SANITIZER)
// The emulator knows a thread's own memory by its stack, so that locals have to be there.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
#endif

using namespace polyte::runtime;

namespace {

using Thread = polyte_emulated_thread;

// What each thread of the launch runs.
std::function<void(Thread&)> kernel_body;

void enter(Thread* thread, const void* const*) { kernel_body(*thread); }

constexpr polyte_access kWrite{"S", "y", 0, 4, 4, 1, 4, 0}, kRead{"S", "x", 1, 4, 4, 0, 4, 0};

void write(Thread& t, float* at, float value) {
  t.touch(&t, at, &kWrite, 0, 0);
  *at = value;
}
float read(Thread& t, const float* at, std::int64_t iteration = 0) {
  t.touch(&t, at, &kRead, iteration, 0);
  return *at;
}
void update(Thread& t, float* at) {
  constexpr static polyte_access kUpdate{"S", "y", 2, 4, 4, POLYTE_ATOMIC, 4, 0};
  t.touch(&t, at, &kUpdate, 0, 0);
  ++*at;
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

Run run(const std::function<void(Thread&, Run&)>& kernel, EmulatorOptions options = {},
        std::int64_t threads = 64, std::int64_t blocks = 1) {
  Run result;
  kernel_body = [&](Thread& t) { kernel(t, result); };
  Emulator emulator(options);
  emulator.add_memory("x", result.x.data(), 256, Emulator::Defined::Yes);
  emulator.add_memory("y", result.y.data(), 256, Emulator::Defined::No);
  const polyte_host host = emulator.host();
  const polyte_launch launch{"k", threads, 1024, 0, enter};
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
  write(t, shared(t) + t.thread,
        read(t, &r.x[static_cast<std::size_t>(t.thread)]) + static_cast<float>(t.thread));
  between();
  write(t, &r.y[static_cast<std::size_t>(t.thread)], read(t, shared(t) + 63 - t.thread));
}

}  // namespace

TEST_CASE("emulator: atomic updates are ordered among themselves, and with nothing else") {
  const auto counted = [](Thread& t, Run& r) {
    update(t, &r.x[0]);
    meet(t);
    write(t, &r.y[static_cast<std::size_t>(t.thread)], read(t, &r.x[0]));
  };
  CHECK(run(counted).faults.empty());
  CHECK(run(counted).y[5] == 65);
  CHECK(run([](Thread& t, Run& r) { update(t, &r.x[0]), update(t, &r.x[1]); }).faults.empty());
  CHECK(fault_of([](Thread& t, Run& r) { update(t, &r.y[0]); }).find("never written") !=
        std::string::npos);
  static float elsewhere = 0;
  CHECK(fault_of([](Thread& t, Run&) { update(t, &elsewhere); }).find("outside of all memory") !=
        std::string::npos);
  const auto races = [](const std::function<void(Thread&, Run&)>& kernel,
                        std::int64_t threads = 64) {
    return fault_of(kernel, threads).find("race of") != std::string::npos;
  };
  CHECK(races(
      [](Thread& t, Run& r) { t.thread == 9 ? void(read(t, &r.x[0])) : update(t, &r.x[0]); }));
  CHECK(
      races([](Thread& t, Run& r) { t.thread == 9 ? write(t, &r.x[0], 0) : update(t, &r.x[0]); }));
  CHECK(races([](Thread& t, Run& r) {  // what one thread begins with, the others update
    if (t.thread == 0) write(t, &r.x[0], 0);
    update(t, &r.x[0]);
  }));
  CHECK(run([](Thread& t, Run& r) {
          if (t.thread == 0) write(t, &r.x[0], 0);
          meet(t);
          update(t, &r.x[0]);
        }).faults.empty());
  CHECK(races([](Thread& t, Run& r) {  // the last one that updates reads
    update(t, &r.x[0]);
    read(t, &r.x[0]);
  }));
  // Lanes of a warp that has met, beside another warp that has not.
  const auto in_warps = [](Thread& t, Run& r) {
    float* mine = &r.x[static_cast<std::size_t>(t.thread / 32)];
    update(t, mine);
    meet_warp(t);
    read(t, mine);
  };
  CHECK(run(in_warps).faults.empty());
  CHECK(races([](Thread& t, Run& r) {
    update(t, &r.x[0]);
    meet_warp(t);
    read(t, &r.x[0]);
  }));
}

TEST_CASE("emulator: blocks update atomically, and none of them sees what comes of it") {
  const auto by_blocks = [](const std::function<void(Thread&, Run&)>& kernel) {
    const Run result = run(kernel, {}, 32, 3);
    return result.faults.empty() ? "" : result.faults.front();
  };
  CHECK(by_blocks([](Thread& t, Run& r) { update(t, &r.x[0]); }) == "");
  CHECK(by_blocks([](Thread& t, Run& r) {
          update(t, &r.x[0]);
          meet(t);
          if (t.block[0] == 2) read(t, &r.x[0]);
        }).find("several blocks of the same launch") != std::string::npos);
  CHECK(by_blocks([](Thread& t, Run& r) {
          if (t.block[0] == 0 && t.thread == 0) write(t, &r.x[0], 0);
          meet(t);
          update(t, &r.x[0]);
        }).find("race of") != std::string::npos);
  CHECK(by_blocks([](Thread& t, Run& r) {
          update(t, &r.x[static_cast<std::size_t>(t.block[0])]);
          meet(t);
          read(t, &r.x[static_cast<std::size_t>(t.block[0])]);
        }) == "");
}

TEST_CASE("threads meet at a barrier, in any order") {
  for (const ThreadOrder order :
       {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Random}) {
    const Run result =
        run([](Thread& t, Run& r) { turned(t, r, [&] { meet(t); }); }, {order, 3, true}, 64, 1);
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
  CHECK(fault_of([](Thread& t, Run& r) { turned(t, r, [&] { meet_warp(t); }); }).find("race") !=
        std::string::npos);
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
  CHECK(run([](Thread& t, Run&) { write(t, shared(t), 1); }, {}, 1, 4).faults ==
        std::vector<std::string>{});
}

TEST_CASE("outside of all memory, and never written") {
  CHECK(fault_of([](Thread& t, Run& r) { write(t, r.y.data() + 64, 1); }, 1)
            .find("outside of all memory") != std::string::npos);
  CHECK(fault_of([](Thread& t, Run& r) { (void)read(t, r.y.data()); }, 1)
            .find("y + 0: never written") != std::string::npos);
  CHECK(fault_of([](Thread& t, Run&) { (void)read(t, shared(t) + 3); }, 1).find("never written") !=
        std::string::npos);
  // Nor what another block has left there.
  CHECK(fault_of(
            [](Thread& t, Run&) {
              if (t.block[0] == 0) write(t, shared(t), 1);
              (void)read(t, shared(t));
            },
            1, 2)
            .find("never written") != std::string::npos);
}

// Two elements by one read, of which the first was written.
TEST_CASE("a copy may move what was never written, until somebody uses it") {
  constexpr polyte_access kMove{"c", "s", 2, 8, 8, 0, 4, 1}, kMoved{"c", "c", 3, 8, 8, 1, 4, 0};
  const auto moved = [&](Thread& t, float* to) {
    write(t, shared(t), 1);
    const std::uint64_t undefined = t.touch(&t, shared(t), &kMove, 0, 0);
    CHECK(undefined == 2);
    t.touch(&t, to, &kMoved, 0, undefined);
  };
  const auto of_shared = [&](const std::function<void(Thread&, float*)>& after) {
    return [&moved, after](Thread& t, Run&) {
      moved(t, shared(t) + 8);
      after(t, shared(t) + 8);
    };
  };
  CHECK(run(of_shared([](Thread& t, float* copy) { (void)read(t, copy); }), {}, 1).faults.empty());
  CHECK(run(of_shared([](Thread& t, float* copy) {
              write(t, copy + 1, 2);
              (void)read(t, copy + 1);
            }),
            {}, 1)
            .faults.empty());
  CHECK(fault_of(of_shared([](Thread& t, float* copy) { (void)read(t, copy + 1); }), 1)
            .find("+ 36: never written") != std::string::npos);
  CHECK(fault_of(of_shared([&](Thread& t, float* copy) {
                   const std::uint64_t undefined = t.touch(&t, copy, &kMove, 0, 0);
                   t.touch(&t, nullptr, &kMove, 0, undefined);
                 }),
                 1) == "k: c reads s (access 2) and uses it: never written");
  // By way of the thread's own memory.
  CHECK(run(
            [&](Thread& t, Run&) {
              float own[2];
              moved(t, own);
              CHECK(t.touch(&t, own, &kMove, 0, 0) == 2);
              (void)read(t, own);
            },
            {}, 1)
            .faults.empty());
  CHECK(fault_of(
            [&](Thread& t, Run&) {
              float own[2];
              moved(t, own);
              (void)read(t, own + 1);
            },
            1) == "k: S reads x (access 1), registers: never written");
}

TEST_CASE("no copy of what was never written is left in an output") {
  constexpr polyte_access kMove{"c", "s", 2, 4, 4, 0, 4, 1};
  std::vector<float> y(4);
  Emulator emulator;
  emulator.add_memory("y", y.data(), 16, Emulator::Defined::No);
  const polyte_host host = emulator.host();
  const polyte_launch launch{"k", 1, 64, 0, enter};
  const std::int64_t grid[3] = {1, 1, 1};
  kernel_body = [&](Thread& t) {
    t.touch(&t, &y[2], &kWrite, 0, t.touch(&t, t.shared, &kMove, 0, 0));
  };
  CHECK(host.launch(host.self, &launch, grid, nullptr) == 0);
  emulator.expect_no_undefined_copy(y.data());
  CHECK(emulator.faults() ==
        std::vector<std::string>{"y + 8: at the end a copy of what was never written"});
}

TEST_CASE("an address that is no multiple of what the access takes it to be") {
  constexpr polyte_access kVector{"S", "x", 2, 16, 16, 0, 4, 0};
  CHECK(
      run([&](Thread& t, Run& r) { t.touch(&t, &r.x[4], &kVector, 0, 0); }, {}, 1).faults.empty());
  CHECK(fault_of([&](Thread& t, Run& r) { t.touch(&t, &r.x[1], &kVector, 0, 0); }, 1) ==
        "k: S reads x (access 2) at x + 4: not a multiple of 16 bytes");
}

TEST_CASE("what a warp's accesses cost: wavefronts of shared memory, sectors of global memory") {
  // Reads of 64 threads, thread t of the element that `at` says, of as many bytes.
  const auto counted = [](std::int64_t bytes, bool shared,
                          const std::function<std::int64_t(std::int64_t)>& at) {
    const polyte_access access{"S", "x", 0, bytes, bytes, 0, bytes, 0},
        fill{"S", "y", 1, 1, 1, 1, 1, 0};
    const Run result = run(
        [&](Thread& t, Run& r) {
          char* const base = shared ? static_cast<char*>(t.shared)
                                    : reinterpret_cast<char*>(r.x.data());  // NOLINT
          if (shared && t.thread == 0)
            for (std::int64_t i = 0; i < 1024; ++i) t.touch(&t, base + i, &fill, i, 0);
          meet(t);
          if (t.thread < 32) t.touch(&t, base + bytes * at(t.thread), &access, 0, 0);
        },
        {.count_accesses = true});
    REQUIRE(result.faults == std::vector<std::string>{});
    const auto found = std::ranges::find(result.counts.at(0).accesses, "x", &AccessCounts::buffer);
    REQUIRE(found != result.counts.at(0).accesses.end());
    CHECK(found->requests == 1);
    CHECK(found->shared == shared);
    return std::pair{found->cost, found->ideal};
  };
  using Cost = std::pair<std::int64_t, std::int64_t>;
  CHECK(counted(4, true, [](std::int64_t t) { return t; }) == Cost{1, 1});
  CHECK(counted(4, true, [](std::int64_t) { return 5; }) == Cost{1, 1});
  CHECK(counted(4, true, [](std::int64_t t) { return t * 2; }) == Cost{2, 1});
  CHECK(counted(4, true, [](std::int64_t t) { return t % 8 * 32; }) == Cost{8, 1});
  CHECK(counted(8, true, [](std::int64_t t) { return t; }) == Cost{2, 2});
  CHECK(counted(16, true, [](std::int64_t t) { return t; }) == Cost{4, 4});
  CHECK(counted(16, true, [](std::int64_t t) { return t % 2 * 8; }) == Cost{8, 4});
  CHECK(counted(2, true, [](std::int64_t t) { return t; }) == Cost{1, 1});
  CHECK(counted(4, false, [](std::int64_t t) { return t; }) == Cost{4, 4});
  CHECK(counted(4, false, [](std::int64_t t) { return t + 1; }) == Cost{5, 4});
  CHECK(counted(4, false, [](std::int64_t) { return 3; }) == Cost{1, 1});
  CHECK(counted(4, false, [](std::int64_t t) { return t % 8 * 8; }) == Cost{8, 1});
  CHECK(counted(8, false, [](std::int64_t t) { return t; }) == Cost{8, 8});
}

TEST_CASE("executions of an access in different iterations are different requests") {
  const Run result = run(
      [](Thread& t, Run& r) {
        for (std::int64_t i = t.thread; i < 64; ++i)
          (void)read(t, &r.x[static_cast<std::size_t>(i)], i);
      },
      {.count_accesses = true}, 32);
  REQUIRE(result.counts.at(0).accesses.size() == 1);
  CHECK(result.counts[0].accesses[0].requests == 64);
  CHECK(result.counts[0].accesses[0].cost == 64);
}

TEST_CASE("threads that do not come to a barrier, or to another one") {
  CHECK(fault_of([](Thread& t, Run&) {
          if (t.thread < 40) meet(t);
        }).find("or some have ended") != std::string::npos);
  CHECK(fault_of([](Thread& t, Run&) {
          meet(t, t.thread < 32 ? 0 : 1);
        }).find("different barriers") != std::string::npos);
}

namespace {

constexpr std::uint64_t kHasValue = std::uint64_t{1} << 32U;

// Lane t brings t, if it has a value, and takes what the next lane brought.
void exchange(Thread& t, Run& r, bool written) {
  const auto own = static_cast<std::uint64_t>(t.thread) | (written ? kHasValue : 0);
  const std::uint64_t got = t.exchange(&t, own, t.thread + 1);
  t.use(&t, "S", "q", static_cast<std::int64_t>(got >> 32U));
  write(t, &r.y[static_cast<std::size_t>(t.thread)], static_cast<float>(got & 0xffffffff));
}

}  // namespace

TEST_CASE("lanes exchange registers, each warp its own") {
  for (const EmulatorOptions& options :
       {EmulatorOptions{ThreadOrder::Backward}, EmulatorOptions{ThreadOrder::Random, 3}}) {
    const Run result = run([](Thread& t, Run& r) { exchange(t, r, true); }, options);
    REQUIRE(result.faults.empty());
    for (std::size_t t = 0; t < 64; ++t)
      CHECK(result.y[t] == static_cast<float>(t % 32 == 31 ? t - 31 : t + 1));
  }
}

TEST_CASE("a register of another lane that was never written, lanes that do not take part") {
  const std::string unwritten = fault_of([](Thread& t, Run& r) { exchange(t, r, t.thread != 7); });
  CHECK(unwritten == "k: S reads q, thread 6: a register that was never written");
  fault_of([](Thread& t, Run& r) {
    if (t.thread % 32 < 16) exchange(t, r, true);
  });
  CHECK(fault_of([](Thread& t, Run& r) { exchange(t, r, true); }, 48) ==
        "k: lanes of a warp run different instructions");
}

TEST_CASE("a fault ends its launch, and the next one runs") {
  std::vector<float> y(4);
  Emulator emulator;
  emulator.add_memory("y", y.data(), 16, Emulator::Defined::No);
  const polyte_host host = emulator.host();
  const polyte_launch launch{"k", 1, 0, 0, enter};
  const std::int64_t grid[3] = {2, 1, 1};
  kernel_body = [&](Thread& t) { write(t, y.data() + 4 * t.block[0], 5); };
  CHECK(host.launch(host.self, &launch, grid, nullptr) != 0);
  kernel_body = [&](Thread& t) { write(t, y.data() + t.block[0], 7); };
  CHECK(host.launch(host.self, &launch, grid, nullptr) == 0);
  CHECK(y[1] == 7);
  CHECK(emulator.faults().size() == 1);
  REQUIRE(emulator.counts().size() == 1);
  CHECK(emulator.counts()[0].launches == 2);
}
