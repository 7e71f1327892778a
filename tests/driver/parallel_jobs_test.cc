// Jobs on threads: every job runs once, failures by number, and systems that give no thread.
#include "driver/compile/parallel_jobs.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace polyte::driver;

bool each_runs_once(int jobs, std::size_t count) {
  std::vector<std::atomic<int>> times(count);
  run_jobs(jobs, count, [&](std::size_t i) { ++times[i]; });
  return std::ranges::all_of(times, [](const std::atomic<int>& t) { return t == 1; });
}

TEST_CASE("every job runs once, whatever the number of threads") {
  for (const int jobs : {-1, 0, 1, 2, 7, 100})
    for (const std::size_t count : {0U, 1U, 5U, 1000U}) {
      CAPTURE(jobs);
      CAPTURE(count);
      CHECK(each_runs_once(jobs, count));
    }
}

TEST_CASE("all jobs run, then the first failure by number is thrown") {
  std::atomic<int> ran{0};
  const auto job = [&](std::size_t i) {
    ++ran;
    if (i == 3 || i == 8) throw std::runtime_error(std::to_string(i));
  };
  CHECK_THROWS_WITH_AS(run_jobs(4, 10, job), "3", std::runtime_error);
  CHECK(ran == 10);
}

// In a process of its own, of a user who may start no thread: root is not held to the limit.
int status_without_threads() {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(kNobody) != 0)) _exit(2);
    try {
      _exit(each_runs_once(4, 100) ? 0 : 1);
    } catch (...) {
      _exit(3);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("where the system gives no thread the caller does all jobs") {
  CHECK(status_without_threads() == 0);
}

}  // namespace
