#include "driver/lab/stopwatch.h"

#include <algorithm>
#include <chrono>

#include "support/caches.h"

namespace polyte::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kMostEvicted = std::int64_t{512} << 20;
constexpr std::size_t kMostSets = 64;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// So many sets of tensors that they pass the last cache twice: by the time a set has its next turn,
// the others have evicted it. At least 2; at most 64, to bound memory, of tensors so small that
// they may stay in a cache after all.
std::size_t sets_for(std::int64_t bytes, std::int64_t cache) {
  const std::int64_t wanted = 2 * cache / std::max<std::int64_t>(bytes, 1) + 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 2, kMostSets));
}

// So much is written to leave nothing of an execution's tensors in a cache, a byte per line of 64.
// Each time another value, so that the lines change. All stopwatches of the process share the
// buffer.
void evict_caches(std::int64_t bytes) {
  static std::vector<unsigned char> buffer(static_cast<std::size_t>(bytes));
  static unsigned char value = 0;
  ++value;
  for (std::size_t i = 0; i < buffer.size(); i += 64) buffer[i] = value;
}

}  // namespace

std::int64_t Stopwatch::last_cache() {
  const std::int64_t bytes = detect_last_cache().bytes;
  return bytes > 0 ? bytes : std::int64_t{32} << 20;
}

// Every stopwatch has tensors of its own: arms do not find each other's data in the caches.
Stopwatch::Stopwatch(Contender& contender, const Interface& interface, const std::string& fill,
                     Caches caches, std::int64_t cache)
    : contender_(contender),
      cold_(caches == Caches::Cold),
      single_(cold_),
      evicted_(cold_ ? std::min(2 * cache, kMostEvicted) : 0) {
  sets_.push_back(filled_tensors(interface, fill));
  std::int64_t bytes = 0;
  for (const runtime::Tensor& tensor : sets_[0]) bytes += tensor.bytes();
  const std::size_t count = caches == Caches::Rotated ? sets_for(bytes, cache) : 1;
  while (sets_.size() < count) sets_.push_back(filled_tensors(interface, fill));
  contender_.clear_sets();
  for (std::vector<runtime::Tensor>& set : sets_) contender_.add_set(set);
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i].role != ir::Role::InOut) continue;
    in_place_.push_back(i);
    before_.push_back(sets_[0][i].clone());
  }
  single_ = cold_ || !in_place_.empty();
}

// An update in place begins with the same values each time; without that a sum would grow from
// execution to execution, perhaps to infinities, whose arithmetic may take other time.
void Stopwatch::prepare(std::size_t set) {
  for (std::size_t i = 0; i < in_place_.size(); ++i)
    std::ranges::copy(before_[i].raw(), sets_[set][in_place_[i]].raw().begin());
  if (cold_) evict_caches(evicted_);
}

// Executions that need something done before each of them are timed one by one, and the time of
// reading the clock is part of each. Others are timed together.
double Stopwatch::nanoseconds(std::int64_t executions) {
  if (const std::optional<double> own = contender_.timed(executions, evicted_))
    return *own / static_cast<double>(executions);
  double total = 0;
  if (single_) {
    for (std::int64_t i = 0; i < executions; ++i) {
      const std::size_t set = turn();
      prepare(set);
      const auto start = Clock::now();
      contender_.run(set);
      total += since(start);
    }
  } else {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < executions; ++i) contender_.run(turn());
    total = since(start);
  }
  return total / static_cast<double>(executions);
}

// At most twice as many executions each time: one slow first execution (pages, lazy binding) says
// little, and a fast one must not lead to millions of the next.
std::int64_t Stopwatch::calibrate(double milliseconds) {
  const double wanted = milliseconds * 1e6;
  double one = nanoseconds(1), spent = one;
  std::int64_t executions = 1;
  while (spent < wanted) {  // warm-up: as long as a round
    executions = std::clamp<std::int64_t>(
        static_cast<std::int64_t>((wanted - spent) / std::max(one, 1.0)), 1, 2 * executions);
    one = nanoseconds(executions);
    spent += std::max(one, 1.0) * static_cast<double>(executions);
  }
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted / std::max(one, 1.0)), 1,
                                  std::int64_t{1} << 30);
}

}  // namespace polyte::lab
