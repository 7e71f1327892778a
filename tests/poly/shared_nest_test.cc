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
       {ir::Values{{"M", 90}, {"N", 150}}, ir::Values{{"M", 200}, {"N", 40}}}) {
    const std::string script = script_of(kWindows, sizes);
    CHECK(has(script, "r > s > <x.i> > p.update"));
    CHECK(has(script, "stage p at p.update:x.o in register"));
    CHECK(has(script, "stage q at q.update:x.o in register"));
  }
}

TEST_CASE("rows too short for vectors of a shared nest: sums in nests of their own have tiles") {
  const std::string script = script_of(kWindows, {{"M", 40}, {"N", 5}});
  CHECK(has(script, "> p.init; r > [s] > [u.i] > <x.i> > p.update }"));
  CHECK(has(script, "stage p at p.update:x.o in register"));
}

TEST_CASE("a sum of sums: isl fuses both, and along the rows of the first one nothing is near") {
  constexpr const char* kPartial = R"(
program partial()
  in   x: f32[200, 257, 19]
  temp p: f32[257, 19]
  out  y: f32[257]
  p[j, k] = sum[i] x[i, j, k]
  y[j] = sum[k] p[j, k]
)";
  CHECK(has(script_of(kPartial, {}), "i > [j.i] > <k.i> > p.update }"));
}

// Rows are lanes of sums that share a nest, however short: see schedule/cost/lanes.h for squares.
TEST_CASE("softmax of few columns: rows as lanes of its maxima and sums") {
  constexpr const char* kFew = R"(
program few(N)
  in  x: f32[257, N]
  out y: f32[257, N]
  t[i] = max[j] x[i, j]
  e[i, j] = exp(x[i, j] - t[i])
  s[i] = sum[j] e[i, j]
  y[i, j] = e[i, j] / s[i]
)";
  for (const std::int64_t columns : {2, 3, 5, 11, 15}) {
    CAPTURE(columns);
    const std::string script = script_of(kFew, {{"N", columns}});
    CHECK(has(script, "> <i.i> > t.update"));
    CHECK(has(script, "> <i.i> > s.update"));
  }
}

TEST_CASE("a definition streams row by row where its rows share no read") {
  const std::string script = script_of(schedule::kBlur, {{"M", 40}, {"N", 200}});
  CHECK(has(script, "u > x.o > <x.i> > bx"));
}

}  // namespace polyte::poly
