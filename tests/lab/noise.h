// Execution times as machines give them, made up: lognormal rounds, processes that differ
// (addresses, pages), a clock that drifts over a process, outliers (interrupts).
#pragma once

#include <cmath>
#include <numbers>

#include "driver/lab/statistics.h"

namespace polyte::lab::testing {

// G. Box, M. Muller, "A note on the generation of random normal deviates", 1958.
inline double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

struct Noise {
  std::size_t processes = 5, rounds = 15;
  double of_rounds = 0.02, of_processes = 0.008, drift = 0.01;  // of logarithms
  // Share of rounds, each 1.2 to 3 times as long.
  double outliers = 0.05;
};

inline Samples noisy(Random& random, double nanoseconds, const Noise& noise) {
  Samples samples(noise.processes);
  for (std::vector<double>& process : samples) {
    const double shift = noise.of_processes * normal(random), slope = noise.drift * normal(random);
    for (std::size_t i = 0; i < noise.rounds; ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(noise.rounds) - 0.5;
      double value = std::log(nanoseconds) + shift + slope * at + noise.of_rounds * normal(random);
      if (random.uniform() < noise.outliers) value += std::log(1.2 + 1.8 * random.uniform());
      process.push_back(std::exp(value));
    }
  }
  return samples;
}

}  // namespace polyte::lab::testing
