// Rank tests against chances that can be counted by hand, and the correction for many.
#include "driver/lab/rank_test.h"

#include <doctest/doctest.h>

#include "driver/lab/statistics.h"
#include "tests/lab/noise.h"

namespace polyte::lab {
namespace {

TEST_CASE("Mann-Whitney: lists that do not overlap have one way of all") {
  const std::vector<double> low{1, 2, 3}, high{4, 5, 6};
  CHECK(mann_whitney(high, low).greater == doctest::Approx(1.0 / 20));
  CHECK(mann_whitney(high, low).two_sided == doctest::Approx(2.0 / 20));
  CHECK(mann_whitney(low, high).greater == doctest::Approx(1));
  CHECK(mann_whitney(low, high).two_sided == doctest::Approx(2.0 / 20));
  CHECK(least_chance(3, 3) == doctest::Approx(1.0 / 20));
  CHECK(mann_whitney({}, high).two_sided == 1);
}

TEST_CASE("Mann-Whitney: one pair out of order is four ways of 20") {
  // Sums of ranks as great or greater than that of {3, 5, 6}: those of {4,5,6} and {3,5,6}.
  CHECK(mann_whitney(std::vector<double>{3, 5, 6}, std::vector<double>{1, 2, 4}).greater ==
        doctest::Approx(2.0 / 20));
}

TEST_CASE(
    "Mann-Whitney with ties: nothing is told of equal lists, and the approximation is near the "
    "exact chance") {
  const std::vector<double> same{1, 1, 2, 2}, other{1, 1, 2, 2};
  CHECK(mann_whitney(same, other).two_sided == doctest::Approx(1));
  std::vector<double> a, b, tied_a, tied_b;
  for (int i = 0; i < 20; ++i) {
    a.push_back(i + 8.5);
    b.push_back(i * 1.01);
  }
  tied_a = a, tied_b = b;
  tied_a.push_back(3), tied_b.push_back(3);
  CHECK(mann_whitney(tied_a, tied_b).two_sided ==
        doctest::Approx(mann_whitney(a, b).two_sided).epsilon(0.6));
}

TEST_CASE("signed ranks") {
  CHECK(signed_rank(std::vector<double>{1, 2, 3, 4, 5}).greater == doctest::Approx(1.0 / 32));
  CHECK(signed_rank(std::vector<double>{1, 2, 3, 4, 5}).two_sided == doctest::Approx(2.0 / 32));
  CHECK(signed_rank(std::vector<double>{-1, 2, 3, 4, 5}).greater == doctest::Approx(2.0 / 32));
  CHECK(signed_rank(std::vector<double>{-1, -2, -3}).greater == doctest::Approx(1));
  CHECK(signed_rank(std::vector<double>{0, 0}).two_sided == 1);
}

TEST_CASE("tests of nothing find something as often as they say") {
  int found = 0;
  constexpr int kTrials = 2000;
  Random random(5);
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < 8; ++i)
      a.push_back(testing::normal(random)), b.push_back(testing::normal(random));
    if (mann_whitney(a, b).two_sided < 0.05) ++found;
  }
  CHECK(found > kTrials * 0.03);
  CHECK(found < kTrials * 0.06);
}

TEST_CASE("Holm: the least chance counts for all, the next for one less, and order is kept") {
  const std::vector<double> corrected = holm(std::vector<double>{0.01, 0.04, 0.03, 0.9});
  CHECK(corrected[0] == doctest::Approx(0.04));
  CHECK(corrected[2] == doctest::Approx(0.09));
  CHECK(corrected[1] == doctest::Approx(0.09));  // not less than one before it
  CHECK(corrected[3] == doctest::Approx(0.9));
}

}  // namespace
}  // namespace polyte::lab
