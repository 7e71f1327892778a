#include "runtime/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/error.h"

namespace polyte::runtime {
namespace {

// Turns of the waiting loop before a thread parks: some 20 to 100 microseconds, by the length
// of `pause`.
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

// Chunks a worker has at first: what he may be behind at the end is one of them.
constexpr std::int64_t kChunksPerWorker = 8;

struct Job {
  polyte_parallel_body body = nullptr;
  void* context = nullptr;
  std::int64_t begin = 0, end = 0;
  std::int64_t parts = 0;  // workers that have a share
  std::int64_t chunks = 0;

  void run(std::int64_t number, std::int64_t worker) const {
    const Chunk chunk = chunk_of(begin, end, number, chunks);
    body(context, chunk.begin, chunk.end, worker);
  }
};

// The chunks of one job that a worker has before him: he takes the first, who has none left takes
// the last. The job's number is part of the word, so that a worker who wakes late takes nothing of
// the next one.
class Share {
 public:
  void fill(std::uint32_t job, Chunk chunks) {
    left_.store(
        word(job, static_cast<std::uint64_t>(chunks.begin), static_cast<std::uint64_t>(chunks.end)),
        std::memory_order_release);
  }
  std::int64_t take_first(std::uint32_t job) { return take(job, true); }
  std::int64_t take_last(std::uint32_t job) { return take(job, false); }

 private:
  static constexpr int kBits = 16;
  alignas(64) std::atomic<std::uint64_t> left_{0};  // job, begin, end

  static std::uint64_t word(std::uint32_t job, std::uint64_t begin, std::uint64_t end) {
    return std::uint64_t{job} << 2 * kBits | begin << kBits | end;
  }
  // -1: none is left.
  std::int64_t take(std::uint32_t job, bool first) {
    std::uint64_t old = left_.load(std::memory_order_acquire);
    while (true) {
      const std::uint64_t begin = old >> kBits & 0xffff, end = old & 0xffff;
      if (old >> 2 * kBits != job || begin == end) return -1;
      const std::uint64_t next = first ? word(job, begin + 1, end) : word(job, begin, end - 1);
      if (left_.compare_exchange_weak(old, next, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
        return static_cast<std::int64_t>(first ? begin : end - 1);
    }
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
  InsideBody(const void* pool, std::int64_t worker) : outer_(inside_of) {
    inside_of = {pool, worker};
  }
  ~InsideBody() { inside_of = outer_; }
  InsideBody(const InsideBody&) = delete;
  InsideBody& operator=(const InsideBody&) = delete;

 private:
  Inside outer_;
};

}  // namespace

// The first `longer` parts are one element longer: sizes differ by at most one, and depend on
// the range and the number of parts alone.
Chunk chunk_of(std::int64_t begin, std::int64_t end, std::int64_t part, std::int64_t parts) {
  const std::int64_t size = (end - begin) / parts;
  const std::int64_t longer = (end - begin) % parts;
  const std::int64_t first = begin + part * size + std::min(part, longer);
  return {first, first + size + (part < longer ? 1 : 0)};
}

// `ticket` changes once per job: its low 12 bits say how many workers have a share in it. `pending`
// counts the chunks that are not done: while a worker holds one, the job does not change.
struct ThreadPool::State {
  static constexpr int kPartBits = 12;
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  alignas(64) std::atomic<std::uint32_t> pending{0};
  alignas(64) Job job;
  std::vector<Share> shares;
  std::mutex busy;
  int workers = 1;
  int spins = kSpins;
  std::vector<std::thread> threads;
  pid_t owner = getpid();

  static std::uint64_t parts_of(std::uint64_t value) {
    return value & ((std::uint64_t{1} << kPartBits) - 1);
  }
  static std::uint32_t number_of(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> kPartBits);
  }
  std::uint64_t next_ticket(std::uint64_t parts) const {
    return ((ticket.load(std::memory_order_relaxed) >> kPartBits) + 1) << kPartBits | parts;
  }
  // notify_all wakes those that have parked; those that spin see the store.
  void publish(std::uint64_t next) {
    ticket.store(next, std::memory_order_seq_cst);
    ticket.notify_all();
  }

  // Own chunks in order, then those of the others from their ends.
  void take_part(std::uint32_t number, std::int64_t worker, std::int64_t parts) {
    const InsideBody inside(this, worker);
    std::uint32_t done = 0;
    for (std::int64_t turn = 0; turn < parts; ++turn) {
      Share& share = shares[static_cast<std::size_t>((worker + turn) % parts)];
      for (std::int64_t chunk;
           (chunk = turn == 0 ? share.take_first(number) : share.take_last(number)) >= 0; ++done)
        job.run(chunk, worker);
    }
    if (done > 0 && pending.fetch_sub(done, std::memory_order_acq_rel) == done)
      pending.notify_one();
  }

  void work(std::int64_t worker) {
    std::uint64_t seen = 0;
    while (true) {
      seen = await_change(ticket, seen, spins);
      const auto parts = static_cast<std::int64_t>(parts_of(seen));
      if (parts == 0) return;  // the pool closes
      if (worker < parts) take_part(number_of(seen), worker, parts);
    }
  }

  // The order matters: job, shares and pending before the ticket, whose release makes them
  // visible to the workers that acquire it.
  void run(const Job& next) {
    job = next;
    const std::uint64_t sequence = next_ticket(static_cast<std::uint64_t>(next.parts));
    for (std::int64_t part = 0; part < next.parts; ++part)
      shares[static_cast<std::size_t>(part)].fill(number_of(sequence),
                                                  chunk_of(0, next.chunks, part, next.parts));
    pending.store(static_cast<std::uint32_t>(next.chunks), std::memory_order_relaxed);
    publish(sequence);
    take_part(number_of(sequence), 0, next.parts);
    // The caller is worker 0 and has taken what it could; chunks that others hold are still
    // running.
    for (std::uint32_t left = pending.load(std::memory_order_acquire); left != 0;) {
      left = await_change(pending, left, spins);
    }
  }

  // In a child that was forked there are no threads, only what the parent noted of them, which
  // is given up.
  void close() {
    if (getpid() != owner) {
      [[maybe_unused]] const auto* given_up =
          std::make_unique<std::vector<std::thread>>(std::move(threads)).release();
      return;
    }
    publish(next_ticket(0));
    for (std::thread& thread : threads) thread.join();
  }
};

ThreadPool::ThreadPool(int workers) : state_(std::make_unique<State>()) {
  POLYTE_CHECK(workers >= 1 && workers < 1 << State::kPartBits, "number of workers out of range");
  state_->workers = workers;
  state_->shares = std::vector<Share>(static_cast<std::size_t>(workers));
  // More workers than processors: spinning would keep the others from working.
  if (workers > processors()) state_->spins = 0;
  try {
    for (int i = 1; i < workers; ++i) {
      state_->threads.emplace_back([state = state_.get(), i] { state->work(i); });
    }
  } catch (const std::system_error& error) {
    state_->close();
    throw UserError(ExitStatus::ResourceLimit, "cannot start " + std::to_string(workers) +
                                                   " threads: " + std::string(error.what()));
  }
  host_.size = sizeof host_;
  host_.workers = static_cast<std::uint32_t>(workers);
  host_.self = this;
  host_.parallel_for = [](void* self, polyte_parallel_body body, void* context, std::int64_t begin,
                          std::int64_t end) {
    static_cast<ThreadPool*>(self)->parallel_for(body, context, begin, end);
  };
}

ThreadPool::~ThreadPool() { state_->close(); }

int ThreadPool::workers() const { return state_->workers; }

// Three ways without the pool: a loop inside of a body of this pool runs serially as its worker
// (a second job would wait for itself); so does a loop that finds the pool busy with another
// caller; so does one of a single part.
void ThreadPool::parallel_for(polyte_parallel_body body, void* context, std::int64_t begin,
                              std::int64_t end) {
  if (begin >= end) return;
  if (inside_of.pool == state_.get()) return body(context, begin, end, inside_of.worker);
  Job job{body, context, begin, end, std::min<std::int64_t>(end - begin, state_->workers), 0};
  job.chunks = std::min(end - begin, job.parts * kChunksPerWorker);
  const std::unique_lock<std::mutex> lock(state_->busy, std::try_to_lock);
  if (job.parts > 1 && lock.owns_lock()) return state_->run(job);
  const InsideBody inside(state_.get(), 0);
  body(context, begin, end, 0);
}

// The processors that this process may use, as taskset or a container's cpuset has it; not
// those of the machine.
int ThreadPool::processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace polyte::runtime
