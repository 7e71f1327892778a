// Random: one stream of random numbers, the same on every machine and for every standard library
// (SplitMix64). A run of a fuzzer is a pure function of (seed, run number), so that any run can
// be repeated alone.
//
//   Random random(seed, run);     random.below(6);  random.chance(10);  random.pick(names)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/error.h"

namespace polyte::fuzz {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t run) : state_(seed * 0x9E3779B97F4A7C15ULL ^ (run + 1)) {
    next(), next();
  }

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // In [0, n); n > 0.
  std::size_t below(std::size_t n) {
    POLYTE_CHECK(n > 0, "a choice among nothing");
    return static_cast<std::size_t>(next() % n);
  }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::size_t>(high - low) + 1));
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace polyte::fuzz
