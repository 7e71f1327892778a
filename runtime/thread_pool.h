// ThreadPool: the runtime's parallel_for (polyte_host of support/kernel_abi.h). Workers spin for some
// microseconds, then park; the calling thread is worker 0. The partition of [0, n) into contiguous chunks
// depends on n and on the number of workers only, so results do not depend on timing.
//
//   ThreadPool pool(2);
//   kernel(buffers, scratch, &pool.host());
//
// Who calls while the pool is busy with another caller's loop runs all chunks himself, in order, with the same
// worker numbers: the same bits. A parallel_for inside a body runs as one chunk under the body's worker number.
// Bodies do not throw.
#pragma once

#include <cstdint>
#include <memory>

#include "support/kernel_abi.h"

namespace polyte::runtime {

class ThreadPool {
 public:
  explicit ThreadPool(int workers);  // at least 1; 1 starts no thread
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const;
  const polyte_host& host() const { return host_; }
  void parallel_for(polyte_parallel_body body, void* context, std::int64_t begin, std::int64_t end);

  static int processors();  // that this process may run on

 private:
  struct State;
  std::unique_ptr<State> state_;
  polyte_host host_{};
};

// Chunk `part` of `parts` of [begin, end): sizes differ by one at most, larger ones first.
struct Chunk {
  std::int64_t begin, end;
};
Chunk chunk_of(std::int64_t begin, std::int64_t end, std::int64_t part, std::int64_t parts);

}  // namespace polyte::runtime
