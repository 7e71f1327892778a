// The thread pool: every iteration exactly once, under a worker number that nobody else has at the
// time, whatever nests or runs beside.
#include "runtime/thread_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace polyte::runtime;
using Body = std::function<void(std::int64_t begin, std::int64_t end, std::int64_t worker)>;

void loop(ThreadPool& pool, std::int64_t begin, std::int64_t end, const Body& body) {
  pool.parallel_for([](void* context, std::int64_t b, std::int64_t e,
                       std::int64_t worker) { (*static_cast<const Body*>(context))(b, e, worker); },
                    const_cast<Body*>(&body), begin, end);
}

TEST_CASE("chunks cover the range once, in order, evenly") {
  for (std::int64_t n = 1; n < 40; ++n) {
    for (std::int64_t parts = 1; parts <= n && parts <= 9; ++parts) {
      std::int64_t at = 5;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Chunk chunk = chunk_of(5, 5 + n, part, parts);
        REQUIRE(chunk.begin == at);
        const std::int64_t size = chunk.end - chunk.begin;
        REQUIRE((size == n / parts || size == n / parts + 1));
        at = chunk.end;
      }
      REQUIRE(at == 5 + n);
    }
  }
}

TEST_CASE(
    "every iteration runs exactly once, under a worker that there is, in the same chunks every "
    "time") {
  for (const int workers : {1, 2, 8}) {
    CAPTURE(workers);
    ThreadPool pool(workers);
    CHECK(pool.host().workers == static_cast<unsigned>(workers));
    for (const std::int64_t n : {0, 1, 2, 7, 8, 9, 31, 1000}) {
      std::set<std::int64_t> starts;
      for (int round = 0; round < 300; ++round) {
        std::vector<int> count(static_cast<std::size_t>(n), 0);
        std::atomic<int> wrong{0};
        std::mutex writing;
        std::set<std::int64_t> here;
        loop(pool, 0, n, [&](std::int64_t begin, std::int64_t end, std::int64_t worker) {
          if (worker < 0 || worker >= workers) ++wrong;
          for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
          const std::scoped_lock lock(writing);
          here.insert(begin);
        });
        REQUIRE(wrong == 0);
        REQUIRE(std::ranges::all_of(count, [](int times) { return times == 1; }));
        if (round == 0) starts = here;
        REQUIRE(here == starts);
      }
    }
  }
}

TEST_CASE("no two bodies run under one worker number at a time") {
  ThreadPool pool(4);
  std::array<std::atomic<int>, 4> inside{};
  std::atomic<int> wrong{0};
  for (int round = 0; round < 500; ++round)
    loop(pool, 0, 40, [&](std::int64_t, std::int64_t, std::int64_t worker) {
      std::atomic<int>& here = inside[static_cast<std::size_t>(worker)];
      if (++here != 1) ++wrong;
      std::this_thread::yield();
      --here;
    });
  CHECK(wrong == 0);
}

TEST_CASE("who is done takes what a slower worker has left") {
  ThreadPool pool(2);
  std::array<std::atomic<int>, 2> ran{};
  loop(pool, 0, 16, [&](std::int64_t begin, std::int64_t end, std::int64_t worker) {
    ran[static_cast<std::size_t>(worker)] += static_cast<int>(end - begin);
    // Worker 0 stays in its first chunk until all the others have run.
    while (worker == 0 && ran[0] + ran[1] < 16) std::this_thread::yield();
  });
  CHECK(ran[0] == 1);
  CHECK(ran[1] == 15);
}

TEST_CASE("workers wake up after they parked") {
  ThreadPool pool(3);
  std::atomic<int> sum{0};
  for (int round = 0; round < 5; ++round) {
    loop(pool, 0, 3, [&](std::int64_t, std::int64_t, std::int64_t) { ++sum; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(sum == 15);
}

TEST_CASE("a loop in a loop runs whole, under the outer worker") {
  for (const int workers : {1, 2, 8}) {
    ThreadPool pool(workers);
    ThreadPool other(2);
    std::atomic<int> inner{0};
    std::atomic<int> wrong{0};
    std::atomic<int> elsewhere{0};
    for (int round = 0; round < 200; ++round) {
      loop(pool, 0, 8, [&](std::int64_t begin, std::int64_t end, std::int64_t worker) {
        for (std::int64_t i = begin; i < end; ++i) {
          loop(pool, 0, 10, [&](std::int64_t b, std::int64_t e, std::int64_t w) {
            inner += static_cast<int>(e - b);
            if (b != 0 || e != 10 || w != worker) ++wrong;
          });
          loop(other, 0, 10, [&](std::int64_t b, std::int64_t e, std::int64_t w) {
            elsewhere += static_cast<int>(e - b);
            if (w > 1) ++wrong;
          });
        }
      });
    }
    CHECK(inner == 200 * 8 * 10);
    CHECK(elsewhere == 200 * 8 * 10);
    CHECK(wrong == 0);
  }
}

TEST_CASE("concurrent callers all get their whole range") {
  ThreadPool pool(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::array<std::atomic<int>, 17> count{};
        loop(pool, 0, 17, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
          for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
        });
        wrong +=
            static_cast<int>(std::ranges::count_if(count, [](int times) { return times != 1; }));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("pools come and go") {
  for (int round = 0; round < 100; ++round) {
    ThreadPool pool(1 + round % 5);
    std::atomic<int> sum{0};
    if (round % 2 == 0)
      loop(pool, -3, 4,
           [&](std::int64_t b, std::int64_t e, std::int64_t) { sum += static_cast<int>(e - b); });
    if (round % 2 == 0) CHECK(sum == 7);
  }
}

}  // namespace
