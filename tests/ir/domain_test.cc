// Proofs on domains against enumeration of their points.
#include "ir/domain.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/ir/symbols.h"

using namespace polyte::ir;
using namespace polyte::test;

namespace {

bool all_hold(const std::vector<Constraint>& domain, const Values& point) {
  return std::all_of(domain.begin(), domain.end(),
                     [&](const Constraint& c) { return holds(c, point); });
}

// Counts the points of the domain, and those that violate c, for one N.
std::pair<int, int> count(const std::vector<Constraint>& domain, const Constraint& c,
                          std::int64_t size) {
  int points = 0, violations = 0;
  for (std::int64_t a = -8; a <= 16; ++a)
    for (std::int64_t b = -8; b <= 16; ++b) {
      const Values point{{"i", a}, {"j", b}, {"N", size}};
      if (!all_hold(domain, point)) continue;
      ++points;
      violations += holds(c, point) ? 0 : 1;
    }
  return {points, violations};
}

}  // namespace

TEST_CASE("what is proved holds, what is refuted is violated somewhere") {
  std::mt19937 random(5);
  const auto in = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int proved = 0, refuted = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool triangle = in(0, 1) == 1;
    const std::vector<Constraint> domain{at_least(i, in(-2, 2)), less_than(i, n + in(-2, 2)),
                                         at_least(j, triangle ? i + in(-2, 2) : Affine(in(-2, 2))),
                                         less_than(j, in(0, 1) == 1 ? n : i + in(0, 3))};
    const Constraint c = at_least(
        i * in(-1, 1) + j * in(-1, 1) + n * in(-1, 1) + floor_div(i, 2) * in(0, 1), in(-3, 3));
    const DomainFacts facts({"i", "j"}, domain, {"N"}, {});
    const bool is_proved = facts.proves(c), is_refuted = facts.refutes(c);
    proved += is_proved ? 1 : 0;
    refuted += is_refuted ? 1 : 0;
    for (std::int64_t size = 0; size <= 5; ++size) {
      const auto [points, violations] = count(domain, c, size);
      INFO(to_string(c));
      if (is_proved) REQUIRE(violations == 0);
      if (is_refuted && points > 0) REQUIRE(violations > 0);
    }
  }
  CHECK(proved > 300);
  CHECK(refuted > 50);
}

TEST_CASE("context and parameters") {
  const Affine m = Affine::symbol("M");
  const std::vector<Constraint> domain{at_least(i, 0), less_than(i, n)};
  CHECK(!DomainFacts({"i"}, domain, {"N", "M"}, {}).proves(less_than(i, m)));
  CHECK(DomainFacts({"i"}, domain, {"N", "M"}, {at_least(m, n)}).proves(less_than(i, m)));
  CHECK(DomainFacts({"i"}, domain, {"N", "M"}, {}).proves(at_least(m, 0)));
}

TEST_CASE("bounds by the innermost iterator") {
  const DomainBounds bounds = bounds_of(
      {at_least(i, 0), less_than(i + j * 2, n), at_least(j, i), equal(mod(j, 2), 1)}, {"i", "j"});
  REQUIRE(bounds.of[0].lower.size() == 1);
  CHECK(bounds.of[0].upper.empty());
  REQUIRE(bounds.of[1].upper.size() == 1);
  CHECK(bounds.of[1].upper[0] == floor_div(n - i - 1, 2));
  CHECK(bounds.of[1].checks.size() == 1);
}

TEST_CASE("the guard of a padded read has only what is needed") {
  const DomainFacts facts({"i"}, {at_least(i, 0), less_than(i, n)}, {"N"}, {});
  CHECK(implied_guard({n}, {i}, facts).empty());
  CHECK(implied_guard({n}, {i - 1}, facts) == std::vector<Constraint>{at_least(i, 1)});
  CHECK(implied_guard({n}, {i + 1}, facts) == std::vector<Constraint>{less_than(i, n - 1)});
  CHECK(implied_guard({n}, {i * 2 - 1}, facts).size() == 2);
}

TEST_CASE("intervals of what is divided") {
  Ranges ranges;
  // 0 <= i < 24 * (j//24), (j + i)//50 <= 3
  tighten(ranges, {i, floor_div(j, 24) * 24 - i - 1, -floor_div(j + i, 50) + 3});
  CHECK(ranges.at("j").min == 24);
  CHECK(ranges.at("j").max == 199);
  CHECK(ranges.at("i").max == 175);
  Ranges nested;
  tighten(nested, {floor_div(floor_div(j, 3) + 1, 4) - 2, -floor_div(-j, 7) + 5});
  CHECK(nested.at("j").min == 21);
  CHECK(!nested.at("j").max.has_value());
}
