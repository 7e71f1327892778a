// ThreadPool: the runtime's parallel_for (polyte_host of support/kernel_abi.h). Workers spin for
// some microseconds, then park; the calling thread is worker 0.
//
//   ThreadPool pool(2);
//   kernel(buffers, scratch, &pool.host());
//
// [0, n) is cut into contiguous chunks, a few for each worker, in a way that depends on n and on
// the number of workers only. A worker has a run of neighbours to begin with; who is done takes
// from the far end of another's (the static stealing of LLVM's OpenMP), so a core that is slower,
// or that something else occupies, holds nobody up. Which worker ran a chunk depends on timing;
// what a kernel writes does not, since iterations of its parallel loops are independent.
//
// Who calls while the pool is busy with another caller's loop runs all of it himself. A
// parallel_for inside a body runs whole under the body's worker number. Bodies do not throw.
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
