// Rows that are added to the same cells, several together.
#include <algorithm>

#include "poly/auto_schedule.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

constexpr const char* kBothWays = R"(program both(M, N)
  in  A: f64[M, N]
  in  p: f64[N]
  in  r: f64[M]
  out q: f64[M]
  out s: f64[N]
  q[i] = sum[j] A[i, j] * p[j]
  s[j] = sum[i] A[i, j] * r[i]
)";

// s needs q of its row, as the products with a transposed matrix need those before them.
constexpr const char* kOneAfterTheOther = R"(program after(M, N)
  in  A: f64[M, N]
  in  p: f64[N]
  temp q: f64[M]
  out s: f64[N]
  q[i] = sum[j] A[i, j] * p[j]
  s[j] = sum[i] A[i, j] * q[i]
)";

// Each row reads what the rows before it have added.
constexpr const char* kRecurrence = R"(program recurrence(M, N)
  in    A: f64[M, N]
  inout s: f64[N]
  out   q: f64[M]
  loop i in 0..M
    Q: q[i] = s[0] * 0.5
    S: s[j] += A[i, j] * q[i]    for j in 0..N
)";

// Whether eight rows together were tried, and refused.
bool is_refused(std::int64_t rows) {
  const auto program = schedule::bound_program(kRecurrence, {{"M", rows}, {"N", 900}});
  std::vector<schedule::RefusedScript> refused;
  const auto script = auto_schedule(*program, schedule::wide_machine(), {.refused = &refused});
  REQUIRE(static_cast<bool>(script));
  CHECK(has(schedule::print(*script), "<j.i> > S"));
  CHECK(!has(schedule::print(*script), "[i.i]"));
  return std::ranges::any_of(refused,
                             [](const auto& each) { return has(each.what, "rows together"); });
}

}  // namespace

TEST_CASE("a sum over rows is loaded once for eight of them, beside or behind the rows' own sums") {
  for (const char* text : {kBothWays, kOneAfterTheOther}) {
    const auto large = schedule::bound_program(text, {{"M", 1900}, {"N", 2100}});
    auto script = auto_schedule(*large, schedule::wide_machine(), {});
    REQUIRE(static_cast<bool>(script));
    const std::string printed = schedule::print(*script);
    CAPTURE(printed);
    CHECK(has(printed, "> [i.i] > <j.i> > s.update"));
    CHECK(!has(printed, "#: isl"));
    const auto small = schedule::bound_program(text, {{"M", 75}, {"N", 90}});
    script->digest.clear();
    const auto state = schedule::replay(small, *script, schedule::wide_machine(),
                                        {schedule::ProofLevel::Full, {}});
    REQUIRE(static_cast<bool>(state));
    CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  }
}

TEST_CASE("rows that wait for each other stay as they are, few are not tried together") {
  CHECK(is_refused(750));
  CHECK(!is_refused(20));
  checked_script(kRecurrence, {{"M", 75}, {"N", 90}});
}

}  // namespace polyte::poly
