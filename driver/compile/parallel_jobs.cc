#include "driver/compile/parallel_jobs.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/thread_pool.h"

namespace polyte::driver {
namespace {

// False: the system gives no more threads.
bool start(std::vector<std::thread>& threads, const std::function<void()>& work) {
  try {
    threads.emplace_back(work);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

int default_jobs() { return runtime::ThreadPool::processors(); }

// Every job runs, whatever others throw; the failure of the first in order is what is thrown
// then, so that a message does not depend on timing. Where no more threads are to be had, fewer
// do the work.
void run_jobs(int jobs, std::size_t count, const std::function<void(std::size_t)>& job) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  // The caller is one of the workers, so that one job at a time needs no thread.
  const std::size_t at_once = std::min(static_cast<std::size_t>(std::max(1, jobs)), count);
  std::vector<std::thread> threads;
  while (threads.size() + 1 < at_once && start(threads, work)) continue;
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace polyte::driver
