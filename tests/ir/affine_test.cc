// Affine algebra against evaluation by hand: random expressions, random points.
#include "ir/affine.h"

#include <doctest/doctest.h>

#include <random>

#include "support/checked.h"
#include "support/error.h"
#include "tests/ir/symbols.h"

using namespace polyte::ir;
using namespace polyte::test;

namespace {

// A random expression together with the function it should be.
struct Sample {
  Affine e;
  std::function<std::int64_t(const Values&)> value;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  Sample sample(int depth) {
    if (depth == 0) return leaf();
    const Sample a = sample(depth - 1), b = sample(depth - 1);
    const std::int64_t c = in(-5, 5), d = in(1, 9);
    switch (in(0, 4)) {
      case 0:
        return {a.e + b.e, [=](const Values& v) { return a.value(v) + b.value(v); }};
      case 1:
        return {a.e - b.e, [=](const Values& v) { return a.value(v) - b.value(v); }};
      case 2:
        return {a.e * c, [=](const Values& v) { return a.value(v) * c; }};
      case 3:
        return {floor_div(a.e, d),
                [=](const Values& v) { return polyte::floor_div(a.value(v), d); }};
      default:
        return {mod(a.e, d), [=](const Values& v) { return polyte::floor_mod(a.value(v), d); }};
    }
  }
  Values point() { return {{"i", in(-20, 20)}, {"j", in(-20, 20)}, {"N", in(0, 30)}}; }

 private:
  std::mt19937 engine_;
  Sample leaf() {
    const std::int64_t c = in(-9, 9);
    if (in(0, 3) == 0) return {c, [=](const Values&) { return c; }};
    const std::string name = in(0, 2) == 0 ? "N" : in(0, 1) == 0 ? "i" : "j";
    return {Affine::symbol(name), [=](const Values& v) { return v.at(name); }};
  }
};

}  // namespace

TEST_CASE("random expressions have the value of what built them") {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const Sample s = random.sample(static_cast<int>(random.in(0, 4)));
    for (int k = 0; k < 5; ++k) {
      const Values point = random.point();
      INFO(to_string(s.e));
      REQUIRE(evaluate(s.e, point) == s.value(point));
    }
  }
}

TEST_CASE("random substitutions have the value of the substituted point") {
  Random random(2);
  for (int round = 0; round < 1000; ++round) {
    const Sample outer = random.sample(3), a = random.sample(2), b = random.sample(2);
    const Affine e = substitute(outer.e, {{"i", a.e}, {"j", b.e}});
    const Values point = random.point();
    const Values inner{{"i", a.value(point)}, {"j", b.value(point)}, {"N", point.at("N")}};
    INFO(to_string(outer.e));
    REQUIRE(evaluate(e, point) == outer.value(inner));
  }
}

TEST_CASE("ranges hold every value") {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const Sample s = random.sample(4);
    const Interval range = range_of(s.e, {{"i", {0, 7}}, {"j", {-3, 4}}, {"N", {1, 10}}});
    for (int k = 0; k < 10; ++k) {
      const std::int64_t value =
          s.value({{"i", random.in(0, 7)}, {"j", random.in(-3, 4)}, {"N", random.in(1, 10)}});
      INFO(to_string(s.e));
      REQUIRE((!range.min || *range.min <= value));
      REQUIRE((!range.max || value <= *range.max));
    }
  }
}

TEST_CASE("the normal form makes equal values equal") {
  CHECK(i + j - i == j);
  CHECK(floor_div(i * 4 + j, 4) == i + floor_div(j, 4));
  CHECK(floor_div(floor_div(i, 3), 4) == floor_div(i, 12));
  CHECK(floor_div(i * 6 + 4, 4) == i + floor_div(i + 2, 2));
  CHECK(floor_div(i, 8) * 8 + mod(i, 8) == i);
  CHECK(mod(i + 8, 8) == mod(i, 8));
  CHECK(floor_div(i - j + n * 5, 5) == n + floor_div(i - j, 5));
  CHECK(floor_div(i * -1, 4) + i == floor_div(i * 3, 4));
  CHECK(floor_div(Affine(13) - i, 14) == -floor_div(i, 14));
  CHECK(floor_div(i + floor_div(i, 14) * 14 + 14, 28) == floor_div(i, 14));
  CHECK(floor_div(i - floor_div(i, 14) * 14 + j * 28, 28) == j);
  CHECK(floor_div(15 - mod(i, 2), 2) == Affine(7));
  CHECK(floor_div(j * 4 + 11 - mod(i, 4), 4) == j + 2);
  CHECK(floor_div(10 - mod(i, 4), 4) != Affine(2));
  CHECK(floor_div(j * 8 + mod(i, 8), 16) == floor_div(j, 2));
  CHECK(floor_div(j * 16 + mod(i, 8) * 2 + 1, 32) == floor_div(j, 2));
  CHECK(floor_div(j * 8 + mod(i, 9), 16) != floor_div(j, 2));
  CHECK(i != j);
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    const Affine a = random.sample(2).e, b = random.sample(2).e;
    const std::int64_t d = random.in(1, 12);
    REQUIRE(floor_div(a + b * d, d) == floor_div(a, d) + b);
    REQUIRE(a + b == b + a);
  }
}

TEST_CASE("text") {
  CHECK(to_string(Affine()) == "0");
  CHECK(to_string(i * 2 + floor_div(j, 4) - 1) == "2*i + j//4 - 1");
  CHECK(to_string(n - i - 1) == "N - i - 1");
  CHECK(to_string(4 - i) == "4 - i");
  CHECK(to_string(-i) == "-i");
  CHECK(to_string(mod(j, 4)) == "j % 4");
  CHECK(to_string(mod(i + j, 4) * 3 + j) == "j + 3*((i + j) % 4)");
  CHECK(to_string(floor_div(n + 3, 4) * 2) == "2*((N + 3)//4)");
  CHECK(to_string(at_least(i, 1)) == "i >= 1");
  CHECK(to_string(less_than(i, n)) == "i < N");
  CHECK(to_string(at_least(i, j)) == "j <= i");
  CHECK(to_string(equal(i, j + 2)) == "j == i - 2");
  CHECK(to_string(equal(mod(i, 2), 1)) == "i % 2 == 1");
}

TEST_CASE("constraints") {
  CHECK(holds(less_than(i, n), {{"i", 3}, {"N", 4}}));
  CHECK(!holds(less_than(i, n), {{"i", 4}, {"N", 4}}));
  CHECK(truth_of(at_least(mod(i, 4), 0), {}) == Truth::True);
  CHECK(truth_of(less_than(mod(i, 4), 4), {}) == Truth::True);
  CHECK(truth_of(at_least(i, 0), {{"i", {-1, 3}}}) == Truth::Unknown);
  CHECK(truth_of(equal(i, 9), {{"i", {0, 3}}}) == Truth::False);
}

TEST_CASE("overflow is refused, unbound symbols are internal errors") {
  const Affine huge = i * std::int64_t{1'000'000'000'000'000'000};
  CHECK_THROWS_AS(huge * 100, polyte::UserError);
  CHECK_THROWS_AS(evaluate(i, Values{}), polyte::InternalError);
  CHECK_THROWS_AS(floor_div(i, 0), polyte::InternalError);
}
