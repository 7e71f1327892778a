// Statistics on samples that are made up: what is planted is found, what is not is not, intervals
// cover as often as they say. The noise is that of machines: lognormal, processes that differ, a
// drift of the clock, outliers.
#include "driver/lab/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/lab/noise.h"

namespace polyte::lab {
namespace {

TEST_CASE("medians and quantiles") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(quantile({1, 2, 3, 4, 5}, 0.25) == 2);
  CHECK(quantile({1, 2}, 0.5) == 1.5);
  CHECK(process_medians({{1, 2, 3}, {}, {5}}) == std::vector<double>{2, 5});
}

TEST_CASE(
    "an interval holds its estimate, is the same for the same seed, and is narrow where nothing "
    "varies") {
  Random random(7);
  const Samples samples = testing::noisy(random, 1000, {});
  const Interval once = median_interval(samples), again = median_interval(samples);
  CHECK(once.low == again.low);
  CHECK(once.high == again.high);
  CHECK(once.low <= once.estimate);
  CHECK(once.estimate <= once.high);
  const Interval constant = median_interval({{5, 5, 5}, {5, 5}});
  CHECK(constant.low == doctest::Approx(5));
  CHECK(constant.high == doctest::Approx(5));
  CHECK(median_interval({}).estimate == 0);
}

TEST_CASE("a paired ratio cancels what both arms suffer in the same round") {
  Random random(3);
  Samples a(3), b(3);
  for (std::size_t p = 0; p < 3; ++p)
    for (int i = 0; i < 20; ++i) {
      const double drift = 1 + 0.5 * random.uniform();
      a[p].push_back(110 * drift);
      b[p].push_back(100 * drift);
    }
  const Interval ratio = paired_ratio(a, b);
  CHECK(ratio.estimate == doctest::Approx(1.1));
  CHECK(ratio.low == doctest::Approx(1.1));
  CHECK(ratio.high == doctest::Approx(1.1));
  CHECK_FALSE(paired_ratio(a, {}).excludes(1));
}

// How often 95 % intervals hold the truth, of so many processes.
double coverage(std::size_t processes, double of_processes, bool paired) {
  int held = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial) * 977 + processes);
    testing::Noise noise;
    noise.processes = processes;
    noise.of_processes = of_processes;
    const Samples a = testing::noisy(random, 1030, noise), b = testing::noisy(random, 1000, noise);
    const BootstrapOptions options{200, 1};
    const Interval ratio = paired ? paired_ratio(a, b, options) : unpaired_ratio(a, b, options);
    if (ratio.low <= 1.03 && 1.03 <= ratio.high) ++held;
  }
  return static_cast<double>(held) / kTrials;
}

TEST_CASE("95 % intervals hold the truth about as often as they say, also of few processes") {
  for (const std::size_t processes : {std::size_t{3}, std::size_t{5}, std::size_t{10}})
    for (const bool paired : {true, false}) {
      CAPTURE(processes);
      CAPTURE(paired);
      CHECK(coverage(processes, 0.008, paired) >= 0.92);
      // Where processes differ by more than rounds.
      const double share = coverage(processes, 0.04, paired);
      CHECK(share >= 0.92);
      CHECK(share < 1);  // an interval of everything would hold it too
    }
}

TEST_CASE("geometric mean: errors of independent rows add in squares") {
  const std::vector<Interval> rows(4, {1.1, 1.1 / 1.02, 1.1 * 1.02});
  const Interval mean = geometric_mean(rows);
  CHECK(mean.estimate == doctest::Approx(1.1));
  CHECK(mean.high / mean.estimate == doctest::Approx(std::exp(std::log(1.02) / 2)));
  const std::vector<Interval> opposite{{2, 1.9, 2.1}, {0.5, 0.45, 0.55}};
  CHECK(geometric_mean(opposite).estimate == doctest::Approx(1));
  CHECK(geometric_mean({}).estimate == 1);
}

TEST_CASE("random numbers are the same everywhere") {
  Random random(1);
  CHECK(random.below(1000) == 528);
  double sum = 0, squares = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = testing::normal(random);
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / 1e4) < 0.03);
  CHECK(squares / 1e4 == doctest::Approx(1).epsilon(0.05));
  std::vector<int> items{1, 2, 3, 4, 5};
  random.shuffle(items);
  std::sort(items.begin(), items.end());
  CHECK(items == std::vector<int>{1, 2, 3, 4, 5});
}

}  // namespace
}  // namespace polyte::lab
