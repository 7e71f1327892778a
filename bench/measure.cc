#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace polyte::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const Contender& contender, std::int64_t iterations) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < iterations; ++i) contender.run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Executions that fill a round, after a warm-up: batches double until one is long enough to be
// timed, and the last, warm one says how long an execution takes.
std::int64_t calibrate(const Contender& contender, const MeasureOptions& options) {
  double total = 0, last = 0;
  std::int64_t iterations = 1;
  while (total < options.warm_up_seconds) {
    last = seconds_of(contender, iterations) / static_cast<double>(iterations);
    total += last * static_cast<double>(iterations);
    if (last * static_cast<double>(iterations) < options.warm_up_seconds / 4) iterations *= 2;
  }
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(options.round_seconds / std::max(last, 1e-9)));
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Order statistics that bracket the median with 95 % confidence (binomial, normal approximation).
std::pair<double, double> bracket(std::vector<double> values) {
  if (values.empty()) return {0, 0};
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil(n / 2 + reach)));
  return {values[low], values[high]};
}

}  // namespace

double Timing::median() const { return median_of(rounds); }
std::pair<double, double> Timing::interval() const { return bracket(rounds); }

std::vector<Timing> measure(const std::vector<Contender>& contenders,
                            const MeasureOptions& options) {
  std::vector<Timing> timings;
  for (const Contender& contender : contenders) {
    timings.push_back({contender.name, {}, calibrate(contender, options)});
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Another contender begins each round, so that none always runs first or behind the same
      // one.
      const std::size_t at = (i + static_cast<std::size_t>(round)) % contenders.size();
      const double seconds = seconds_of(contenders[at], timings[at].iterations);
      timings[at].rounds.push_back(seconds * 1e9 / static_cast<double>(timings[at].iterations));
    }
  }
  return timings;
}

Ratio ratio_of(const Timing& a, const Timing& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.rounds.size(), b.rounds.size()); ++i) {
    // Of rounds that were side by side: what slowed the machine then slowed both.
    ratios.push_back(a.rounds[i] / b.rounds[i]);
  }
  const auto [low, high] = bracket(ratios);
  return {median_of(ratios), low, high};
}

}  // namespace polyte::bench
