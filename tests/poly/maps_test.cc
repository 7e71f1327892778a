// What isl skews and shifts becomes a `map` that a person can read, replays to the same loops, is
// proved and executes to the reference's bits.
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

TEST_CASE("both sweeps of jacobi in one nest, shifted, where their rows leave the caches") {
  auto script = auto_schedule(
      *schedule::bound_program(schedule::kJacobi, {{"T", 200}, {"N", 3000}}), one_core(), {});
  REQUIRE(static_cast<bool>(script));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  CHECK(has(printed, "map B (t, "));
  script->digest.clear();
  for (const auto& sizes : {ir::Values{{"T", 3}, {"N", 9}}, ir::Values{{"T", 20}, {"N", 14}}}) {
    const auto state = schedule::replay(schedule::bound_program(schedule::kJacobi, sizes), *script,
                                        one_core(), {schedule::ProofLevel::Full, {}});
    REQUIRE(static_cast<bool>(state));
    CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
    checked_script(schedule::kJacobi, sizes);
  }
}

TEST_CASE("a nest that isl fuses around another one") {
  const std::string script = checked_script(R"(program around()
    in    x: f32[4]
    in    y: f32[2]
    out   a: f32[2]
    out   b: f32[2]
    out   c: f32[2]
    a[i] = y[i] - x[2*i]  for i in 0..2
    b[i] = sum[k in i..2] a[k] / max(y[i], a[i])  for i in 0..2
    c[i] = min[k in 0..1] select(y[k] - a[i] < y[i], -y[i], 2)  for i in 0..2
)",
                                            {}, {.affine_core_only = true}, small_cache());
  CHECK(has(script, "nest { i > a; i > c.init; i > k > c.update; i > b.init; i > k > b.update }"));
}

TEST_CASE("sweeps in place: steps in time are lanes, of an array that is laid out for them") {
  const std::string nine = checked_script(schedule::kSeidel, {{"T", 40}, {"N", 50}});
  CHECK(has(nine, "map A (i + 2*t, i + t, i + j + 2*t) as (I, I2, J)"));
  CHECK(has(nine, "<I2> > A"));
  CHECK(has(nine, "stage A layout (A0, A1) [A1, A0%2, A0//2]"));
  // By its own dependences i + t would do: one array dimension more would move with t.
  const std::string five = checked_script(R"(program five(T, N)
  inout A: f64[N, N]
  loop t in 0..T
    A[i, j] = 0.25 * (A[i - 1, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j])  for i in 1..N - 1, j in 1..N - 1
)",
                                          {{"T", 40}, {"N", 50}});
  CHECK(has(five, "map A (i + 2*t, i + t, i + j + 2*t) as (I, I2, J)"));
  CHECK(has(five, "stage A layout"));
  const std::string line = checked_script(R"(program line(T, N)
  inout A: f32[N]
  loop t in 0..T
    A[i] = 0.5 * (A[i - 1] + A[i + 1])  for i in 1..N - 1
)",
                                          {{"T", 50}, {"N", 90}});
  CHECK(has(line, "stage A layout (A0) [A0%2, A0//2]"));
  // Two arrays that lanes move across in different dimensions.
  const std::string turned = checked_script(R"(program turned(T, N)
  inout A: f64[N, N]
  in    B: f64[N, N]
  loop t in 0..T
    A[i, j] = 0.25 * (A[i - 1, j] + A[i, j - 1] + A[i + 1, j] + B[j, i])  for i in 1..N - 1, j in 1..N - 1
)",
                                            {{"T", 40}, {"N", 50}});
  CHECK(has(turned, "stage A layout (A0, A1) [A1, A0%2, A0//2]"));
  CHECK(has(turned, "stage B layout (B0, B1) [B0, B1%2, B1//2]"));
}

TEST_CASE("few sweeps do not pay for two copies of the array") {
  const std::string script = checked_script(schedule::kSeidel, {{"T", 1}, {"N", 50}});
  CHECK(!has(script, "layout"));
}

TEST_CASE("a stencil chain in one nest on one core") {
  const std::string script = checked_script(schedule::kBlur, {{"M", 9}, {"N", 12}});
  CHECK(has(script, "map bx ("));
  CHECK(has(script, "} "));
}

TEST_CASE("sums along rows, and transposes, have rows as lanes and keep every order") {
  const std::string norm = checked_script(R"(
program norm(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  t[i] = sum[j] x[i, j]
  m[i] = t[i] / f32(N)
  y[i, j] = x[i, j] - m[i]
)",
                                          {{"M", 13}, {"N", 18}}, {}, small_cache());
  CHECK(has(norm, "{ <i.i> > t.init; j.o > [j.i] > <i.i> > t.update; <i.i> > m; i.i > "));
  const std::string turn = checked_script(R"(
program turn(M, N)
  in  x: f32[N, M]
  out y: f32[M, N]
  y[m, n] = x[n, m]
)",
                                          {{"M", 18}, {"N", 21}});
  CHECK(has(turn, "[m.i] > <n.i> > y"));
  const std::string few = checked_script(R"(
program few(M, N)
  in  x: f32[M, N]
  out t: f32[M]
  t[i] = sum[j] x[i, j]
)",
                                         {{"M", 2}, {"N", 18}});
  CHECK(!has(few, "<i.i>"));
}

TEST_CASE("products that are most of a nest have nests of their own, in tiles of registers") {
  const std::string script = checked_script(R"(
program scores(M, N, D)
  in  q: f32[M, D]
  in  k: f32[N, D]
  in  v: f32[N, D]
  out y: f32[M, D]
  s[i, j] = sum[d] q[i, d] * k[j, d]
  t[i]    = max[j] s[i, j]
  o[i, c] = sum[j] s[i, j] * v[j, c]
  y[i, c] = o[i, c] - t[i]
)",
                                            {{"M", 9}, {"N", 10}, {"D", 9}});
  CHECK(has(script, "stage s at s.update"));
  CHECK(has(script, "stage o at o.update"));
}

}  // namespace polyte::poly
