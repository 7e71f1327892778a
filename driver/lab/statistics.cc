#include "driver/lab/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace polyte::lab {
namespace {

constexpr double kNormalQuantile = 1.959964;  // 97.5 % of the standard normal distribution

// Of a list that may be reordered.
double median_in_place(std::vector<double>& values) {
  // nth_element leaves the smaller half before `half`, so that of an even count the lower one of
  // the two middle values is the greatest of that half: nothing needs to be sorted.
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

// Ratios are compared and averaged as logarithms: twice as fast and half as fast are equally far
// from no difference then, and the exponential of the mean is the geometric mean. Times that have
// no logarithm and processes without any time are left out.
Samples logs(const Samples& samples) {
  Samples result;
  for (const std::vector<double>& process : samples) {
    std::vector<double> own;
    for (const double value : process)
      if (value > 0 && std::isfinite(value)) own.push_back(std::log(value));
    if (!own.empty()) result.push_back(std::move(own));
  }
  return result;
}

double mean_of_medians(const Samples& samples) {
  double sum = 0;
  for (const std::vector<double>& process : samples) sum += median(process);
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

// The same of one draw of the bootstrap, at both levels: as many processes as there are, with
// replacement, then as many rounds of each as it has. A process may be drawn twice, and then
// each has its own rounds.
double drawn_mean(const Samples& samples, Random& random, std::vector<double>& scratch) {
  double sum = 0;
  for (std::size_t p = 0; p < samples.size(); ++p) {
    const std::vector<double>& process = samples[random.below(samples.size())];
    scratch.clear();
    for (std::size_t i = 0; i < process.size(); ++i)
      scratch.push_back(process[random.below(process.size())]);
    sum += median_in_place(scratch);
  }
  return sum / static_cast<double>(samples.size());
}

// 97.5 % quantile of Student's t.
double t_quantile(std::size_t degrees_of_freedom) {
  static constexpr std::array<double, 30> kTable{
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees_of_freedom == 0) return kTable[0];
  if (degrees_of_freedom <= kTable.size()) return kTable[degrees_of_freedom - 1];
  return kNormalQuantile + 2.4 / static_cast<double>(degrees_of_freedom);  // within 0.0021 of it
}

// How much wider than the bootstrap of `processes` draws it an interval has to be, since the
// percentile interval is too narrow for two reasons:
//   t / z               it covers what a normal distribution of known variance would, where
//                       Student's t with P - 1 degrees of freedom is due;
//   sqrt(P / (P - 1))   a draw's variance divides by P, an unbiased estimate by P - 1.
// P = 2: 9.2, 3: 2.7, 5: 1.6, 8: 1.3. One process says nothing of how processes differ, and its
// interval stays as it is.
double expansion(std::size_t processes) {
  if (processes < 2) return 1;
  const auto p = static_cast<double>(processes);
  return t_quantile(processes - 1) / kNormalQuantile * std::sqrt(p / (p - 1));
}

// Draws of a difference of logarithms around its estimate, as an interval of the ratio. Each end
// moves away from the estimate by `factor`; an end that the draws put on the wrong side of the
// estimate becomes the estimate.
Interval ratio_interval(double estimate, const std::vector<double>& draws, double factor) {
  const double low = estimate + factor * std::min(0.0, quantile(draws, 0.025) - estimate);
  const double high = estimate + factor * std::max(0.0, quantile(draws, 0.975) - estimate);
  return {std::exp(estimate), std::exp(low), std::exp(high)};
}

Interval interval_of_logs(const Samples& values, const BootstrapOptions& options) {
  Random random(options.seed);
  std::vector<double> draws, scratch;
  for (int i = 0; i < options.draws; ++i) draws.push_back(drawn_mean(values, random, scratch));
  return ratio_interval(mean_of_medians(values), draws, expansion(values.size()));
}

}  // namespace

double Interval::relative_width() const { return estimate == 0 ? 0 : (high - low) / estimate; }

double median(std::vector<double> values) { return median_in_place(values); }

// Type 7 of R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", The American
// Statistician 50, 1996: linear between order statistics, the ends included.
double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

std::vector<double> process_medians(const Samples& samples) {
  std::vector<double> medians;
  for (const std::vector<double>& process : samples)
    if (!process.empty()) medians.push_back(median(process));
  return medians;
}

std::size_t count_samples(const Samples& samples) {
  std::size_t count = 0;
  for (const std::vector<double>& process : samples) count += process.size();
  return count;
}

Interval median_interval(const Samples& samples, const BootstrapOptions& options) {
  const Samples values = logs(samples);
  return values.empty() ? Interval{} : interval_of_logs(values, options);
}

Interval paired_ratio(const Samples& a, const Samples& b, const BootstrapOptions& options) {
  // The quotient of a round drops what slowed both at that moment (clock, other load), which is why
  // the paired interval is narrower than that of the quotient of two medians.
  Samples ratios;
  for (std::size_t p = 0; p < std::min(a.size(), b.size()); ++p) {
    std::vector<double> own;
    for (std::size_t i = 0; i < std::min(a[p].size(), b[p].size()); ++i)
      if (a[p][i] > 0 && b[p][i] > 0) own.push_back(std::log(a[p][i] / b[p][i]));
    if (!own.empty()) ratios.push_back(std::move(own));
  }
  return ratios.empty() ? Interval{1, 1, 1} : interval_of_logs(ratios, options);
}

Interval unpaired_ratio(const Samples& a, const Samples& b, const BootstrapOptions& options) {
  const Samples own = logs(a), other = logs(b);
  if (own.empty() || other.empty()) return {1, 1, 1};
  Random random(options.seed);
  std::vector<double> draws, scratch;
  for (int i = 0; i < options.draws; ++i)
    draws.push_back(drawn_mean(own, random, scratch) - drawn_mean(other, random, scratch));
  return ratio_interval(mean_of_medians(own) - mean_of_medians(other), draws,
                        expansion(std::min(own.size(), other.size())));
}

Interval geometric_mean(std::span<const Interval> ratios) {
  if (ratios.empty()) return {1, 1, 1};
  double sum = 0, squares = 0;
  for (const Interval& ratio : ratios) {
    // The standard error that a normal 95 % interval of this width has. Errors of independent rows
    // add in squares, and a mean divides by their number.
    const double error = (std::log(ratio.high) - std::log(ratio.low)) / (2 * kNormalQuantile);
    sum += std::log(ratio.estimate);
    squares += error * error;
  }
  const auto count = static_cast<double>(ratios.size());
  const double reach = kNormalQuantile * std::sqrt(squares) / count;
  return {std::exp(sum / count), std::exp(sum / count - reach), std::exp(sum / count + reach)};
}

}  // namespace polyte::lab
