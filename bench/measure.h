// Timing several contenders fairly: in one process, interleaved round by round (each round in a
// different order), so that drift of the clock hits all alike; medians with a distribution-free
// confidence interval.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace polyte::bench {

struct Contender {
  std::string name;
  std::function<void()> run;  // one execution
};

struct Timing {
  std::string name;
  std::vector<double> rounds;   // nanoseconds an execution, one entry a round
  std::int64_t iterations = 0;  // executions a round
  double median() const;
  // 95 % interval of the median by order statistics.
  std::pair<double, double> interval() const;
};

struct MeasureOptions {
  int rounds = 15;
  double round_seconds = 0.02;  // executions are repeated to fill about this
  double warm_up_seconds = 0.05;
};

std::vector<Timing> measure(const std::vector<Contender>& contenders,
                            const MeasureOptions& options);

// Median and interval of the ratio a / b, round by round.
struct Ratio {
  double median = 1, low = 1, high = 1;
  bool distinguishable() const { return low > 1 || high < 1; }
};
Ratio ratio_of(const Timing& a, const Timing& b);

}  // namespace polyte::bench
