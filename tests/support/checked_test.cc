// Checked arithmetic against its definition, and the words of an overflow.
#include "support/checked.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "support/error.h"
#include "support/result.h"

namespace {

using namespace polyte;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                       kMin = std::numeric_limits<std::int64_t>::min();

TEST_CASE("checked arithmetic refuses to overflow") {
  CHECK(checked_add(kMax - 1, 1) == kMax);
  CHECK(checked_sub(3, 5) == -2);
  CHECK(checked_product(std::array<std::int64_t, 3>{3, 4, 5}) == 60);
  CHECK(checked_product({}) == 1);
  CHECK_THROWS_WITH_AS(checked_add(kMax, 1),
                       "size overflow: 9223372036854775807 + 1 exceeds 63 bits", UserError);
  CHECK_THROWS_AS(checked_sub(-kMax, 2), UserError);
  CHECK_THROWS_AS(checked_mul(std::int64_t{1} << 40, std::int64_t{1} << 40), UserError);
  try {
    checked_product(std::array<std::int64_t, 3>{std::int64_t{1} << 40, std::int64_t{1} << 40, 0});
    FAIL("no overflow reported");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::ResourceLimit);
  }
}

TEST_CASE("floor division agrees with its definition") {
  for (std::int64_t n = -20; n <= 20; ++n) {
    for (std::int64_t d = 1; d <= 7; ++d) {
      const std::int64_t q = floor_div(n, d);
      const std::int64_t r = floor_mod(n, d);
      CHECK(q * d + r == n);
      CHECK((r >= 0 && r < d));
      CHECK((ceil_div(n, d) * d >= n && (ceil_div(n, d) - 1) * d < n));
    }
  }
  CHECK((floor_div(kMin, 1) == kMin && ceil_div(kMin, 1) == kMin && floor_mod(kMin, 1) == 0));
  CHECK((floor_div(kMin, kMax) == -2 && ceil_div(kMin, kMax) == -1 &&
         floor_mod(kMin, kMax) == kMax - 1));
  CHECK((floor_div(kMax, 2) == kMax / 2 && ceil_div(kMax, 2) == kMax / 2 + 1 &&
         floor_mod(kMax, 2) == 1));
}

TEST_CASE("an error joins its problems, a result holds one of two") {
  const UserError error(ExitStatus::InvalidInput, std::vector<std::string>{"first", "second"});
  CHECK(std::string(error.what()) == "first\nsecond");
  CHECK(error.problems().size() == 2);
  const Result<int> value = 3;
  const Result<int> none = Decline{"odd extent"};
  CHECK(*value == 3);
  CHECK_FALSE(none);
  CHECK(none.error().reason == "odd extent");
  CHECK_THROWS_AS(*none, InternalError);
  CHECK_THROWS_AS(value.error(), InternalError);
}

}  // namespace
