// What samples of execution times say: medians, intervals, ratios, means of ratios. All of it is
// deterministic: the bootstrap draws from a generator of its own, seeded by the options.
//
// Times of one process resemble each other more than those of two (addresses, pages, clocks),
// so samples come as one list per process, and an interval is drawn in two levels: processes,
// and rounds within each (T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time",
// ISMM 2013). Few processes give bootstrap intervals that are too narrow; they are widened
// by t / z * sqrt(P / (P - 1)), as the expanded percentile interval does (T. Hesterberg,
// "What teachers should know about the bootstrap", The American Statistician 69, 2015). Of a single
// process the interval knows nothing of how processes differ; reports say so.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace polyte::lab {

// Nanoseconds per execution: one list per process, in the order of the rounds.
using Samples = std::vector<std::vector<double>>;

// An estimate with its 95 % interval.
struct Interval {
  double estimate = 0, low = 0, high = 0;
  bool excludes(double value) const { return low > value || high < value; }
  double relative_width() const;  // (high - low) / estimate; 0 of an estimate of 0
};

struct BootstrapOptions {
  int draws = 1000;
  std::uint64_t seed = 1;
};

double median(std::vector<double> values);  // 0 of none
// Between neighbours linear; 0 of none.
double quantile(std::vector<double> values, double fraction);
std::vector<double> process_medians(const Samples& samples);  // of those that have samples
std::size_t count_samples(const Samples& samples);

// exp of the mean over processes of the log of each one's median.
Interval median_interval(const Samples& samples, const BootstrapOptions& options = {});

// a / b where round r of process p is the same moment in both: the medians of the ratios of rounds.
// What only one of the two has is left out; all 1 where nothing is left.
Interval paired_ratio(const Samples& a, const Samples& b, const BootstrapOptions& options = {});

// a / b of two runs that share no moments.
Interval unpaired_ratio(const Samples& a, const Samples& b, const BootstrapOptions& options = {});

// The geometric mean of the ratios of independent rows, these rows and no others: the interval
// is that of the measurement (of the logarithms' errors, which add in squares), not of a
// choice among kernels.
Interval geometric_mean(std::span<const Interval> ratios);

// Numbers of a stream that is the same on every machine (std::mt19937_64; distributions of
// the library are not).
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  // Within (0, 1).
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[below(left)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace polyte::lab
