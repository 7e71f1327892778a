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

// The rows of the two sums are not the same.
constexpr const char* kOtherRows = R"(program other(M, N)
  in  A: f64[M, N]
  in  p: f64[N]
  in  r: f64[M]
  out q: f64[M]
  out s: f64[N]
  q[i] = sum[j in 1..N] A[i, j] * p[j]
  s[j] = sum[i] A[i, j] * r[i]
)";

// A row is made and added up while it is in registers.
constexpr const char* kUpdated = R"(program updated(M, N)
  inout A: f64[M, N]
  in    u: f64[M]
  in    v: f64[N]
  in    y: f64[M]
  inout x: f64[N]
  S0: A[i, j] = A[i, j] + u[i] * v[j]
  S1: x[j] += A[i, j] * y[i]
)";

// Two sums along each row.
constexpr const char* kTwoSums = R"(program two(M, N)
  in    A: f64[M, N]
  in    p: f64[N]
  in    r: f64[M]
  inout q: f64[M]
  inout u: f64[M]
  inout s: f64[N]
  Q: q[i] += A[i, j] * p[j]
  U: u[i] += A[i, j] * A[i, j]
  S: s[j] += A[i, j] * r[i]
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

// Planned at large sizes, run at small ones that no tile divides.
std::string planned_rows(const char* text, bool keep_order = false,
                         const ir::Values& planned = {{"M", 1900}, {"N", 2100}}) {
  const auto large = schedule::bound_program(text, planned);
  Machine machine = schedule::wide_machine();
  machine.cores = 1;
  auto script = auto_schedule(*large, machine, {.keep_order = keep_order});
  REQUIRE(static_cast<bool>(script));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  CHECK(schedule::print(schedule::parse_script(printed, "poly")) == printed);
  script->digest.clear();
  for (const ir::Values& sizes : {ir::Values{{"M", 75}, {"N", 90}}, {{"M", 7}, {"N", 3}}}) {
    const auto state = schedule::replay(schedule::bound_program(text, sizes), *script, machine,
                                        {schedule::ProofLevel::Full, {}});
    REQUIRE(static_cast<bool>(state));
    CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  }
  return printed;
}

}  // namespace

TEST_CASE("sums over rows and along them that read the same elements take one pass over them") {
  const std::string both = planned_rows(kBothWays);
  CAPTURE(both);
  CHECK(has(both,
            "> { [i.i] > <j.i> > q_v.init; j.o > [i.i] > { <j.i> > q_v.update; "
            "<j.i> > s.update }; [i.i] > [j.i] > q.update }"));
  CHECK(has(both, "stage q_v at q_v.update:i.o in register"));
  CHECK(!has(both, "#: isl"));
  CHECK(has(planned_rows(kUpdated), "i.o > j.o > [i.i] > { <j.i> > S0; <j.i> > S1 }"));
  const std::string two = planned_rows(kTwoSums);
  CAPTURE(two);
  CHECK(has(two, "split S: i by 6 "));  // as many registers
}

TEST_CASE("a sum over rows is loaded once for eight of them, before or behind the rows' own sums") {
  // The row's sum is whole before it is read, or has other terms.
  for (const std::string& script : {planned_rows(kOneAfterTheOther), planned_rows(kOtherRows)}) {
    CAPTURE(script);
    CHECK(has(script, "j.o > [i.i] > <j.i> > s.update"));
    CHECK(!has(script, "#: isl"));
  }
  CHECK(!has(planned_rows(kBothWays, true), "q_v"));  // the order of the terms is kept
}

TEST_CASE("sums along rows that are whole before they are read have a pass of their own") {
  const std::string after = planned_rows(kOneAfterTheOther);
  CAPTURE(after);
  CHECK(has(after,
            "i.o > { [i.i] > <j.i> > q_v.init; j.o > [i.i] > <j.i> > q_v.update; "
            "[i.i] > [j.i] > q.update; j.o > [i.i] > <j.i> > s.update }"));
  CHECK(has(after, "tail q_v.update:j.i cut"));
  CHECK(
      has(planned_rows(kOtherRows), "j.o > [i.i] > <j.i> > q_v.update; [i.i] > [j.i] > q.update"));
  CHECK(!has(planned_rows(kOneAfterTheOther, true), "q_v"));
}

TEST_CASE("from memory more rows come together than from the caches, and no more than fit there") {
  const ir::Values cached = {{"M", 390}, {"N", 410}}, long_rows = {{"M", 60}, {"N", 20000}};
  CHECK(has(planned_rows(kOneAfterTheOther), "i by 12 "));
  CHECK(has(planned_rows(kOneAfterTheOther, false, cached), "i by 4 "));
  CHECK(has(planned_rows(kBothWays, false, cached), "i by 4 "));
  // A row is 160 kB of a second-level cache of 1 MB: three are half of it.
  CHECK(has(planned_rows(kOneAfterTheOther, false, long_rows), "i by 3 "));
  CHECK(has(planned_rows(kBothWays, false, long_rows), "i by 12 "));
}

TEST_CASE("rows that wait for each other stay as they are, few are not tried together") {
  CHECK(is_refused(750));
  CHECK(!is_refused(20));
  checked_script(kRecurrence, {{"M", 75}, {"N", 90}});
}

}  // namespace polyte::poly
