// Products in place whose steps come after their row: what is planned at large sizes has the
// reference's bits at small ones, tails of rows and lanes among them, on one core and on two.
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

constexpr const char* kTrmm = R"(program trmm(M, N)
  in    A: f64[M, M]
  inout B: f64[M, N]
  loop i in 0..M
    S0: B[i, j] += A[k, i] * B[k, j]   for j in 0..N, k in i+1..M
    S1: B[i, j] = B[i, j] * 1.5        for j in 0..N
)";

// In other words: an operand by rows, a factor of the row's own, and rows that end before the last
// two.
constexpr const char* kRowsOfA = R"(program by_rows(M, N)
  in    A: f32[M, M]
  in    d: f32[M]
  inout B: f32[M, N]
  loop i in 0..M
    S0: B[i, j] += A[i, k] * B[k, j]   for j in 0..N, k in i+3..M
    S1: B[i, j] = B[i, j] * d[i]       for j in 0..N
)";

// The factor before the sum: a row reads those ahead as they were before theirs.
constexpr const char* kScaledBefore = R"(program before(M, N)
  in    A: f64[M, M]
  inout B: f64[M, N]
  loop i in 0..M
    S1: B[i, j] = B[i, j] * 1.5        for j in 0..N
    S0: B[i, j] += A[k, i] * B[k, j]   for j in 0..N, k in i+1..M
)";

// Rows that have been changed are read: a recurrence.
constexpr const char* kChanged = R"(program changed(M, N)
  in    A: f64[M, M]
  inout B: f64[M, N]
  loop i in 0..M
    S0: B[i, j] += A[k, i] * B[k, j]   for j in 0..N, k in 0..i
    S1: B[i, j] = B[i, j] * 1.5        for j in 0..N
)";

bool is_of_rows(const std::string& script) {
  return has(script, ".near, k.far") && has(script, "in register updates");
}

}  // namespace

TEST_CASE("rows in blocks, those ahead in tiles of registers") {
  for (const char* text : {kTrmm, kRowsOfA})
    for (const ir::Values& small :
         {ir::Values{{"M", 41}, {"N", 67}}, {{"M", 7}, {"N", 5}}, {{"M", 1}, {"N", 1}}})
      CHECK(is_of_rows(planned_large(text, {{"M", 900}, {"N", 1100}}, small, one_core())));
  const std::string shared =
      planned_large(kTrmm, {{"M", 900}, {"N", 1100}}, {{"M", 41}, {"N", 67}}, cores(2));
  CHECK(is_of_rows(shared));
  CHECK(has(shared, "nest par j.o"));
}

TEST_CASE("rows that were changed before are no rows ahead") {
  for (const char* text : {kChanged, kScaledBefore})
    CHECK_FALSE(is_of_rows(
        planned_large(text, {{"M", 900}, {"N", 1100}}, {{"M", 21}, {"N", 18}}, one_core())));
}

}  // namespace polyte::poly
