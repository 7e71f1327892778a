#include "bench/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "support/caches.h"

namespace polyte::bench {
namespace {

// Bytes copied.
constexpr std::int64_t kLeast = std::int64_t{64} << 20, kMost = std::int64_t{256} << 20;
constexpr int kRounds = 3;

// Each thread a contiguous part of the same size.
void copy_by(int threads, const std::vector<char>& from, std::vector<char>& to) {
  std::vector<std::thread> workers;
  const std::size_t share = from.size() / static_cast<std::size_t>(threads);
  for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t)
    workers.emplace_back([&, t] { std::memcpy(&to[t * share], &from[t * share], share); });
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

double measure_bandwidth(int threads) {
  using std::chrono::steady_clock;
  const auto bytes =
      static_cast<std::size_t>(std::clamp(4 * detect_last_cache().bytes, kLeast, kMost));
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 0);
  // The first copy touches the pages, and is not timed.
  copy_by(threads, from, to);
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = steady_clock::now();
    copy_by(threads, from, to);
    const double seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
    // Each byte is read once and written once. What a store reads to fill its line is not
    // counted.
    best = std::max(best, 2.0 * static_cast<double>(bytes) / std::max(seconds, 1e-9));
  }
  return best;
}

}  // namespace polyte::bench
