// What our schedulers write is accepted, line by line, and computes what the Program says: Programs
// on which a line of theirs was refused, or which they could not schedule at all.
#include <doctest/doctest.h>

#include <algorithm>

#include "schedule/templates/templates.h"
#include "tests/poly/poly_testing.h"

namespace polyte::poly {
namespace {

struct Example {
  const char* what;
  const char* text;
  ir::Values sizes;
};

const Example kExamples[] = {
    {"an initial value under a name of its own",
     R"(
program gemv(N, K)
  in  a: f64[N, K]
  in  x: f64[K]
  out y: f64[N]

  y[i] = 0
  y[i] += a[i, k] * x[k]
)",
     {{"N", 40}, {"K", 64}}},
    {"a region with a loop of one trip",
     R"(
program one_trip(T, N)
  inout A: f32[N, 3]
  loop t in 0..T
    S0: A[i, j] = max(A[i, j + 1], A[i, j]) + A[i, j] - A[i - 1, j]  for i in 1..N-1, j in 1..2
    S1: A[i, j] = A[i, j - 1] - A[i, j] + A[i, j]  for i in 1..N-1, j in 1..2 if j <= i
)",
     {{"T", 3}, {"N", 6}}},
    {"a result that is mirrored",
     R"(
program mirrored(N, K)
  in  a: f32[K, N]
  out c: f32[N, N]

  S0: c[i, j] = 0  for i in 0..N, j in 0..N if j >= i
  S1: c[i, j] += a[k, i] * a[k, j]  for i in 0..N, j in 0..N, k in 0..K if j >= i
  S2: c[j, i] = c[i, j]  for i in 0..N, j in 0..N if j >= i
)",
     {{"N", 40}, {"K", 48}}},
    {"a triangle that is updated in its own place",
     R"(
program in_place(N, M)
  in    a: f64[M, M]
  inout b: f64[M, N]

  S0: b[i, j] += a[k, i] * b[k, j]  for i in 0..M, j in 0..N, k in 0..M if k > i
  S1: b[i, j] = b[i, j] * 2  for i in 0..M, j in 0..N
)",
     {{"N", 40}, {"M", 32}}},
    {"a row that is replaced by its products",
     R"(
program replaced(R, P)
  in    c: f64[P, P]
  inout a: f64[R, P]
  out   s: f64[R, P]

  S0: s[r, p] = 0
  S1: s[r, p] += a[r, q] * c[q, p]
  S2: a[r, p] = s[r, p]
)",
     {{"R", 24}, {"P", 40}}},
    {"a result in rows of eight of which six are written",
     R"(
program gaps(M)
  in  p: i32[36]
  in  q: i32[36]
  out y: i32[48]

  y[8*i + j] = sum[k in 0..i + 1] p[6*i + k] * q[j + 6*k]  for i in 0..M, j in 0..6
)",
     {{"M", 6}}},
    {"a sum whose initial value stands at other iterations",
     R"(
program shifted(N, K)
  inout y: f64[N]
  in    a: f64[N, K]

  S0: y[i + 2] = 0  for i in -2..N-2
  S1: y[i] += a[i, k]  for i in 0..N, k in 0..K
)",
     {{"N", 24}, {"K", 8}}},
    {"a sum that starts anew for some rows only",
     R"(
program some_rows(N, K)
  inout y: f64[N]
  in    a: f64[N, K]

  S0: y[i] = 0  for i in 0..N if i >= 5
  S1: y[i] += a[i, k]  for i in 0..N, k in 0..K
)",
     {{"N", 24}, {"K", 8}}},
    {"a sum that adds the element beside it",
     R"(
program beside(N, K)
  inout y: i32[N]
  in    a: i32[N]

  S0: y[i] = a[i]
  S1: y[i] += (y[i + 1] else 2)  for i in 0..N, k in 0..K
)",
     {{"N", 24}, {"K", 3}}},
    {"a gathered read of a sum, after it",
     R"(
program gathered(N, K)
  in  a: i32[N, K]
  in  at: i32[N]
  out y: i32[N]
  temp s: i32[N]

  S0: s[i] = 0
  S1: s[i] += a[i, k]
  S2: y[i] = s[at[i]] * 2
)",
     {{"N", 24}, {"K", 8}}},
    {"updates where a condition holds, before and after a sum of all",
     R"(
program conditions(N, K)
  inout s: i32[N]
  in    a: i32[N, K]

  S0: s[i] += 1  for i in 0..N when s[i] < 3
  S1: s[i] max= a[i, k]
  S2: s[i] = 0  for i in 0..N when s[i] < 0 or (s[i + 1] else 1) < 0
)",
     {{"N", 24}, {"K", 8}}},
    {"a sum over pairs of rows",
     R"(
program pairs(N, M)
  inout s: f64[N, M]
  in    a: f64[N, M]

  S0: s[n // 2, j] += a[n, j]
)",
     {{"N", 24}, {"M", 16}}},
    {"two sums into one tensor, and another between them",
     R"(
program two_sums(N, K)
  in   a: f64[N, K]
  in   b: f64[N, K]
  temp s: f64[N]
  out  t: f64[N]
  out  y: f64[N]

  S0: s[i] = 0
  S1: t[i] = a[i, 0]  for i in 0..N
  S2: s[i] += a[i, k]
  S3: s[i] max= b[i, k]
  S4: y[i] = s[i]
)",
     {{"N", 24}, {"K", 16}}},
    {"a softmax with another reader between its sum and its result",
     R"(
program reader_between(M, N)
  in   x: f32[M, N]
  in   v: f32[N, 1]
  temp top: f32[M]
  temp e: f32[M, N]
  temp total: f32[M]
  out  w: f32[M, 1]
  out  y: f32[M, N]

  top[i] = max[j] x[i, j]
  e[i, j] = exp(x[i, j] - top[i])
  total[i] = sum[j] e[i, j]
  w[i, d] = sum[j] e[i, j] * v[j, d]
  y[i, j] = e[i, j] / total[i]
)",
     {{"M", 3}, {"N", 16}}},
    {"a scatter that reads the rows before it",
     R"(
program scatter(N, M)
  in    at: i64[N]
  inout s: f32[N, M]

  S0: s[at[n], j] += (s[n, j - 1] else 5) - s[n, j]  for n in 0..N, j in 0..M
)",
     {{"N", 6}, {"M", 16}}},
    {"a sum over the inner rows, all of which begin at 0",
     R"(
program inner_rows(N, K)
  out y: f64[N]
  in  a: f64[N, K]

  S0: y[i] = 0  for i in 0..N
  S1: y[i] += a[i, k]  for i in 1..N-1, k in 0..K
)",
     {{"N", 24}, {"K", 8}}},
    {"a constant that is read twice, once along the rows",
     R"(
program twice(N)
  const x: u32[2, 2]
  out   y: u32[2, 2]

  y[i, j] = sum[k, r] x[r, k] * (x[r, k] + x[r, i])  for i in 0..2, j in 0..N, k in 0..2, r in 0..2
)",
     {{"N", 2}}},
    {"a region and a statement without iterations",
     R"(
program idle(T, N)
  inout a: f64[N, N]
  inout b: f64[N]
  S0: b[i] = b[i] + 1   for i in 0..0
  loop t in 0..T
    S1: a[i, j] = a[i, j] + a[i, j-1]   for i in 0..N, j in 1..1
)",
     {{"T", 3}, {"N", 8}}},
    {"updates beside one that reads the element that it adds to, of a few",
     R"(
program some_read(T, I, J)
  out   c: i32[I, J]
  inout y: i32[T, I, J]
  in    a: i32[T, T, I, J]
  I1: c[i, j] = 5   for i in 0..I, j in 0..J
  loop t in 0..T
    Y4: y[t, i, j] += c[i, j]   for i in 0..I, j in 0..J, k in 0..1
    U6: y[u, i, j] += a[t, u, i, j] - (y[t - 1, i, j] else 1)   for u in 0..T, i in 0..I, j in 0..J
)",
     {{"T", 2}, {"I", 3}, {"J", 1}}},
    {"no statement at all", "program nothing(N)\n  inout a: f32[N]\n", {{"N", 4}}},
};

Result<schedule::Script> written(const Example& example, const std::string& scheduler) {
  const auto program = schedule::bound_program(example.text, example.sizes);
  if (scheduler == "template") return schedule::make_template(*program, schedule::wide_machine());
  return auto_schedule(*program, schedule::wide_machine(),
                       {.affine_core_only = scheduler == "isl"});
}

TEST_CASE(
    "no line that poly, isl or a template writes is refused, and the result is the Program's") {
  for (const Example& example : kExamples) {
    for (const char* scheduler : {"poly", "isl", "template"}) {
      CAPTURE(example.what);
      CAPTURE(scheduler);
      const auto script = written(example, scheduler);
      if (script)
        schedule::checked_text(schedule::bound_program(example.text, example.sizes), *script);
    }
  }
}

TEST_CASE("a sum whose initial value has a name of its own is scheduled by all of them") {
  for (const char* scheduler : {"poly", "isl", "template"}) {
    CAPTURE(scheduler);
    CHECK(static_cast<bool>(written(kExamples[0], scheduler)));
  }
}

TEST_CASE("an initial value of more rows than the sum has is one nest with it") {
  const auto inner = std::ranges::find_if(kExamples, [](const Example& e) {
    return std::string_view(e.what).starts_with("a sum over the inner rows");
  });
  REQUIRE(inner != std::end(kExamples));
  const auto script = written(*inner, "template");
  REQUIRE(static_cast<bool>(script));
  CHECK(print(*script).find("S0; k") != std::string::npos);
}

}  // namespace
}  // namespace polyte::poly
