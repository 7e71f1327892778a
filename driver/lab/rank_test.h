// Tests by ranks, which ask nothing of how times are distributed, and the correction for many of
// them at once.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace polyte::lab {

// What may be called found: under this chance, corrected for all tests that were made.
inline constexpr double kSignificant = 0.05;

struct RankTest {
  double two_sided = 1;  // chance of ranks as far apart as these, or further, where nothing differs
  double greater = 1;    // the same, of the first being greater
};

// Are values of `a` greater or less than those of `b`? H. Mann, D. Whitney, "On a test of whether
// one of two random variables is stochastically larger than the other", 1947. Exact where no two
// values are equal and both lists have at most 50; else by the normal approximation with correction
// for ties and continuity.
RankTest mann_whitney(std::span<const double> a, std::span<const double> b);

// Are the differences greater or less than 0? F. Wilcoxon, "Individual comparisons by ranking
// methods", 1945; zeros are left out. Exact up to 50 differences of which no two are equally
// far from 0.
RankTest signed_rank(std::span<const double> differences);

// The least chance that mann_whitney can give for the first being greater: of lists that
// do not overlap.
double least_chance(std::size_t a, std::size_t b);

// Corrected for there being so many tests: S. Holm, "A simple sequentially rejective multiple
// test procedure", 1979. Under `level` after it: at most that chance of even one false finding
// among all.
std::vector<double> holm(std::span<const double> chances);

// How alike two lists order the same things: the correlation of their ranks, -1 to 1 (C. Spearman,
// "The proof and measurement of association between two things", 1904). Nothing of fewer than two,
// or where one list is all equal.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace polyte::lab
