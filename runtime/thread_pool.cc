#include "runtime/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "support/error.h"

namespace polyte::runtime {
namespace {

// Turns of the waiting loop before a thread parks: some 20 to 100 microseconds, by the length of `pause`.
constexpr int kSpins = 2000;

void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits until the value differs from `old` and returns it.
template <class T>
T await_change(const std::atomic<T>& word, T old, int spins) {
  for (int i = 0; i < spins; ++i) {
    const T value = word.load(std::memory_order_acquire);
    if (value != old) return value;
    relax();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

struct Job {
  polyte_parallel_body body = nullptr;
  void* context = nullptr;
  std::int64_t begin = 0, end = 0;
  std::int64_t parts = 0;

  void run(std::int64_t part) const {
    const Chunk chunk = chunk_of(begin, end, part, parts);
    body(context, chunk.begin, chunk.end, part);
  }
};

// The body that this thread is in.
struct Inside {
  const void* pool = nullptr;
  std::int64_t worker = 0;
};
thread_local Inside inside_of;

class InsideBody {
 public:
  InsideBody(const void* pool, std::int64_t worker) : outer_(inside_of) { inside_of = {pool, worker}; }
  ~InsideBody() { inside_of = outer_; }
  InsideBody(const InsideBody&) = delete;
  InsideBody& operator=(const InsideBody&) = delete;

 private:
  Inside outer_;
};

}  // namespace

Chunk chunk_of(std::int64_t begin, std::int64_t end, std::int64_t part, std::int64_t parts) {
  const std::int64_t size = (end - begin) / parts;
  const std::int64_t longer = (end - begin) % parts;
  const std::int64_t first = begin + part * size + std::min(part, longer);
  return {first, first + size + (part < longer ? 1 : 0)};
}

// `ticket` changes once a job: its low 12 bits say how many parts the job has, so that a worker that has none
// never looks at a job that may change under its eyes. `pending` counts the parts that others have not finished.
struct ThreadPool::State {
  static constexpr int kPartBits = 12;
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  alignas(64) std::atomic<std::uint32_t> pending{0};
  alignas(64) Job job;
  std::mutex busy;
  int workers = 1;
  int spins = kSpins;
  std::vector<std::thread> threads;

  static std::uint64_t parts_of(std::uint64_t value) { return value & ((std::uint64_t{1} << kPartBits) - 1); }

  void publish(std::uint64_t parts) {
    const std::uint64_t sequence = (ticket.load(std::memory_order_relaxed) >> kPartBits) + 1;
    ticket.store(sequence << kPartBits | parts, std::memory_order_seq_cst);
    ticket.notify_all();
  }

  void work(std::int64_t worker) {
    std::uint64_t seen = 0;
    while (true) {
      seen = await_change(ticket, seen, spins);
      const std::uint64_t parts = parts_of(seen);
      if (parts == 0) return;  // the pool closes
      if (static_cast<std::uint64_t>(worker) >= parts) continue;
      {
        const InsideBody inside(this, worker);
        job.run(worker);
      }
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
    }
  }

  void run(const Job& next) {
    job = next;
    const auto parts = static_cast<std::uint32_t>(next.parts);
    pending.store(parts - 1, std::memory_order_relaxed);
    publish(parts);
    {
      const InsideBody inside(this, 0);
      job.run(0);
    }
    for (std::uint32_t left = pending.load(std::memory_order_acquire); left != 0;) {
      left = await_change(pending, left, spins);
    }
  }

  void close() {
    publish(0);
    for (std::thread& thread : threads) thread.join();
  }
};

ThreadPool::ThreadPool(int workers) : state_(std::make_unique<State>()) {
  POLYTE_CHECK(workers >= 1 && workers < 1 << State::kPartBits, "number of workers out of range");
  state_->workers = workers;
  // More workers than processors: spinning would keep the others from working.
  if (workers > processors()) state_->spins = 0;
  try {
    for (int i = 1; i < workers; ++i) {
      state_->threads.emplace_back([state = state_.get(), i] { state->work(i); });
    }
  } catch (const std::system_error& error) {
    state_->close();
    throw UserError(ExitStatus::ResourceLimit,
                    "cannot start " + std::to_string(workers) + " threads: " + std::string(error.what()));
  }
  host_.size = sizeof host_;
  host_.workers = static_cast<std::uint32_t>(workers);
  host_.self = this;
  host_.parallel_for = [](void* self, polyte_parallel_body body, void* context, std::int64_t begin, std::int64_t end) {
    static_cast<ThreadPool*>(self)->parallel_for(body, context, begin, end);
  };
}

ThreadPool::~ThreadPool() { state_->close(); }

int ThreadPool::workers() const { return state_->workers; }

void ThreadPool::parallel_for(polyte_parallel_body body, void* context, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  if (inside_of.pool == state_.get()) return body(context, begin, end, inside_of.worker);
  const Job job{body, context, begin, end, std::min<std::int64_t>(end - begin, state_->workers)};
  const std::unique_lock<std::mutex> lock(state_->busy, std::try_to_lock);
  if (job.parts > 1 && lock.owns_lock()) return state_->run(job);
  for (std::int64_t part = 0; part < job.parts; ++part) {
    const InsideBody inside(state_.get(), part);
    job.run(part);
  }
}

int ThreadPool::processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace polyte::runtime
