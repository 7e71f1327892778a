// What the prices of a GPU's tiles have in common, in cycles of a multiprocessor.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "support/machine.h"

namespace polyte::schedule {

constexpr double kLaunch = 4000;      // cycles of any launch
constexpr double kSecondCache = 1.8;  // times the rate of memory, that of the second cache
constexpr double kOverlap = 0.25;     // of what is not the bottleneck
constexpr double kSchedulers = 4;     // of a multiprocessor: instructions of warps per cycle

// Bytes that come from the second cache in a cycle, a multiprocessor's share.
inline double second_cache_bytes_a_cycle(const Gpu& gpu) {
  return gpu.memory_gb_a_second * kSecondCache / gpu.clock_ghz / gpu.multiprocessors;
}

// Cycles where all of this goes on at once: as long as the longest takes, and a little of
// the others.
inline double busiest(std::initializer_list<double> all) {
  double sum = 0, most = 0;
  for (const double each : all) sum += each, most = std::max(most, each);
  return most + kOverlap * (sum - most);
}

}  // namespace polyte::schedule
