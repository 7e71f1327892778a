// What happened in one run, and when: a span per step, and a span for what each worker ran
// of a parallel loop.
//
//   const RunProfile profile = session.profile({x.view()}, {y.view()});
//   profile.steps[3].nanoseconds()
//
// Recorder stands between the kernels and the thread pool: a polyte_host that notes who worked
// and hands on.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/thread_pool.h"

namespace polyte::runtime {

struct Span {
  std::size_t step = 0;
  std::int64_t worker = 0;                // 0: the calling thread
  std::int64_t begin_ns = 0, end_ns = 0;  // since the run began
  std::int64_t nanoseconds() const { return end_ns - begin_ns; }
};

struct RunProfile {
  std::vector<Span> steps;  // one per step, in order
  std::vector<Span> parts;  // of parallel loops, by worker, then by time
};

class Recorder {
 public:
  Recorder(ThreadPool& pool, std::size_t steps);
  const polyte_host& host() const { return host_; }
  void begin_step();
  void end_step();
  RunProfile finish() const;

 private:
  // Each worker writes its own; a body must not throw, so there is room from the start, and what
  // comes when it is full counts as one part with the last.
  struct alignas(64) Lane {
    std::vector<Span> spans;
    std::uint64_t call = 0;  // which the last span is of
  };
  struct Call;
  ThreadPool& pool_;
  polyte_host host_{};
  std::int64_t begin_ns_;
  std::vector<Span> steps_;
  std::vector<Lane> lanes_;
  std::atomic<std::uint64_t> calls_{0};  // of parallel_for, from 1

  std::int64_t now() const;
  void note(const Span& span, std::uint64_t call);
  static void parallel_for(void* self, polyte_parallel_body body, void* context, std::int64_t begin,
                           std::int64_t end);
};

}  // namespace polyte::runtime
