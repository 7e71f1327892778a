#include "driver/lab/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace polyte::lab {
namespace {

constexpr std::size_t kExactLimit = 50;

// Of the standard normal distribution: the chance of z or more.
double upper_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// {3, 1, 3} has ranks 2.5, 1, 2.5 and ties 2^3 - 2 = 6.
struct Ranks {
  std::vector<double> of;  // of each value; the mean one where values are equal
  double ties = 0;         // sum over groups of t^3 - t
};

Ranks ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(values[i], i); });
  Ranks ranks;
  ranks.of.resize(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks.of[order[k]] = static_cast<double>(i + end + 1) / 2;
    const auto t = static_cast<double>(end - i);
    ranks.ties += t * t * t - t;
  }
  return ranks;
}

// Chances of each sum of `count` different numbers out of 1..`total`, less the least such sum: the
// distribution of U where every choice of ranks is equally likely. The number of choices per sum
// is a coefficient of the Gaussian binomial. Beyond 2^53 it is rounded, in a share to no effect.
std::vector<double> u_distribution(std::size_t count, std::size_t total) {
  const std::size_t most = count * (total - count);
  std::vector<std::vector<double>> ways(count + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  // ways[c][u] over the first n numbers: n taken as the largest of c numbers adds n - c to u. From
  // large c to small ones, so that ways[c - 1] is still that of the first n - 1 numbers.
  for (std::size_t n = 1; n <= total; ++n)
    for (std::size_t c = std::min(count, n); c >= 1; --c)
      for (std::size_t u = most + 1; u-- > n - c;) ways[c][u] += ways[c - 1][u - (n - c)];
  std::vector<double> chances = ways[count];
  const double all = std::accumulate(chances.begin(), chances.end(), 0.0);
  for (double& chance : chances) chance /= all;
  return chances;
}

// Chances of each sum of ranks with a positive sign among 1..count, each sign being that of a
// fair coin. From large sums to small ones, so that each rank counts once.
std::vector<double> w_distribution(std::size_t count) {
  std::vector<double> chances(count * (count + 1) / 2 + 1, 0);
  chances[0] = 1;
  for (std::size_t rank = 1; rank <= count; ++rank)
    for (std::size_t w = chances.size(); w-- > 0;)
      chances[w] = (chances[w] + (w >= rank ? chances[w - rank] : 0)) / 2;
  return chances;
}

// Both tails include the statistic itself; two-sided is twice the smaller one. Without ties
// the statistic is a whole number.
RankTest exact(const std::vector<double>& chances, double statistic) {
  const auto at = static_cast<std::ptrdiff_t>(std::lround(statistic));
  const double greater = std::accumulate(chances.begin() + at, chances.end(), 0.0);
  const double less = std::accumulate(chances.begin(), chances.begin() + at + 1, 0.0);
  return {std::min(1.0, 2 * std::min(greater, less)), std::min(1.0, greater)};
}

// The statistic takes whole numbers, so that its tail begins half a step before it (correction for
// continuity). No variance: all values are equal, and nothing can be found.
RankTest approximate(double statistic, double mean, double variance) {
  if (variance <= 0) return {};
  const double deviation = std::sqrt(variance);
  const double greater = upper_tail((statistic - mean - 0.5) / deviation);
  const double less = upper_tail((mean - statistic - 0.5) / deviation);
  return {std::min(1.0, 2 * std::min(greater, less)), std::min(1.0, greater)};
}

}  // namespace

RankTest mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return {};
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  const Ranks ranks = ranks_of(all);
  const double sum = std::accumulate(ranks.of.begin(),
                                     ranks.of.begin() + static_cast<std::ptrdiff_t>(a.size()), 0.0);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double u = sum - n * (n + 1) / 2;
  if (ranks.ties == 0 && std::max(a.size(), b.size()) <= kExactLimit)
    return exact(u_distribution(a.size(), all.size()), u);
  const double total = n + m;
  // Variance of U: n m / 12 * (N + 1), less n m / 12 * sum(t^3 - t) / (N (N - 1)) for ties.
  return approximate(u, n * m / 2, n * m / 12 * (total + 1 - ranks.ties / (total * (total - 1))));
}

RankTest signed_rank(std::span<const double> differences) {
  std::vector<double> distances, signs;
  for (const double difference : differences) {
    if (difference == 0) continue;
    distances.push_back(std::abs(difference));
    signs.push_back(difference);
  }
  if (distances.empty()) return {};
  const Ranks ranks = ranks_of(distances);
  double positive = 0;
  for (std::size_t i = 0; i < signs.size(); ++i) positive += signs[i] > 0 ? ranks.of[i] : 0;
  if (ranks.ties == 0 && distances.size() <= kExactLimit)
    return exact(w_distribution(distances.size()), positive);
  const auto n = static_cast<double>(distances.size());
  // Variance of W: n (n + 1) (2 n + 1) / 24, less sum(t^3 - t) / 48 for ties.
  return approximate(positive, n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48);
}

double least_chance(std::size_t a, std::size_t b) {
  double ways = 1;  // a + b over a
  for (std::size_t i = 1; i <= a; ++i) ways *= static_cast<double>(b + i) / static_cast<double>(i);
  return 1 / ways;
}

// The k-th smallest of m chances, k from 0, times m - k, and never less than one before it.
std::vector<double> holm(std::span<const double> chances) {
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(chances[i], i); });
  std::vector<double> adjusted(chances.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, static_cast<double>(order.size() - i) * chances[order[i]]);
    adjusted[order[i]] = std::min(1.0, most);
  }
  return adjusted;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  // Pearson's correlation of the ranks, which with mean ranks for ties is Spearman's.
  const std::size_t count = std::min(a.size(), b.size());
  const Ranks own = ranks_of(a.first(count)), other = ranks_of(b.first(count));
  const double middle = (static_cast<double>(count) + 1) / 2;
  double both = 0, of_own = 0, of_other = 0;
  for (std::size_t i = 0; i < count; ++i) {
    both += (own.of[i] - middle) * (other.of[i] - middle);
    of_own += (own.of[i] - middle) * (own.of[i] - middle);
    of_other += (other.of[i] - middle) * (other.of[i] - middle);
  }
  if (of_own == 0 || of_other == 0) return std::nullopt;
  return both / std::sqrt(of_own * of_other);
}

}  // namespace polyte::lab
