// Several sums that isl fuses: vectors of the innermost shared loop in all of them, what only the
// nest reads in registers.
#include "tests/poly/poly_testing.h"

namespace polyte::poly {

using schedule::has;

namespace {

constexpr const char* kWindows = R"(
program windows(M, N)
  in  a: f32[M + 2, N + 2]
  in  b: f32[M + 2, N + 2]
  out y: f32[M, N]
  p[u, x] = sum[r, s] a[u+r, x+s] * a[u+r, x+s]   for u in 0..M, x in 0..N, r in 0..3, s in 0..3
  q[u, x] = sum[r, s] a[u+r, x+s] * b[u+r, x+s]   for u in 0..M, x in 0..N, r in 0..3, s in 0..3
  y[u, x] = p[u, x] - q[u, x] * q[u, x]
)";

}  // namespace

TEST_CASE("windows over an image: vectors along the rows of all sums, the sums in registers") {
  for (const ir::Values& sizes :
       {ir::Values{{"M", 9}, {"N", 150}}, ir::Values{{"M", 5}, {"N", 40}}}) {
    const std::string script = script_of(kWindows, sizes);
    CHECK(has(script, "r > s > <x.i> > p.update"));
    CHECK(has(script, "stage p at p.update:x.o in register"));
    CHECK(has(script, "stage q at q.update:x.o in register"));
  }
}

TEST_CASE("rows too short for vectors stay scalar") {
  CHECK_FALSE(has(script_of(kWindows, {{"M", 40}, {"N", 5}}), "<x"));
}

TEST_CASE("a definition streams row by row where its rows share no read") {
  const std::string script = script_of(schedule::kBlur, {{"M", 40}, {"N", 200}});
  CHECK(has(script, "u > x.o > <x.i> > bx"));
}

}  // namespace polyte::poly
