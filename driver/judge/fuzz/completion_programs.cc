#include "driver/judge/fuzz/completion_programs.h"

#include <array>
#include <vector>

namespace polyte::fuzz {
namespace {

struct SizedProgram {
  const char* text;
  std::array<std::pair<const char*, std::int64_t>, 4> sizes;  // no name: no more
};

// Sizes are small, so that every completion is executed too, and mostly no multiples of a tile,
// so that tails occur. Some have the loops of a kernel of PolyBench, which is named at the
// right:
//
//   scaled_product    gemm         jacobi             jacobi-2d        triangle           syrk
//   two_products      2mm          jacobi_line        jacobi-1d        triangle_in_place  trmm
//   there_and_back    atax         in_place           seidel-2d        fields             fdtd-2d
//   rows_and_columns  bicg         elimination        lu               paths      floyd-warshall
//                                  substitution       trisolv
constexpr SizedProgram kPrograms[] = {
    {R"(program dense(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  in    b: f32[N]
  out   y: f32[M, N]
  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n] + b[n], 0)
)",
     {{{"M", 13}, {"N", 21}, {"K", 17}}}},
    {R"(program scaled_product(M, N, K)
  inout C: f64[M, N]
  in    A: f64[M, K]
  in    B: f64[K, N]
  S0: C[i, j] = C[i, j] * 2
  S1: C[i, j] += A[i, k] * B[k, j] * 3   for i in 0..M, j in 0..N, k in 0..K
)",
     {{{"M", 18}, {"N", 19}, {"K", 11}}}},
    {R"(program two_products(M, N, K, L)
  in  A: f64[M, K]
  in  B: f64[K, N]
  in  C: f64[N, L]
  out E: f64[M, L]
  t[i, j] = sum[k] A[i, k] * B[k, j]
  E[i, j] = sum[k] t[i, k] * C[k, j]
)",
     {{{"M", 9}, {"N", 12}, {"K", 14}, {"L", 10}}}},
    {R"(program there_and_back(M, N)
  in  A: f64[M, N]
  in  x: f64[N]
  out y: f64[N]
  t[i] = sum[j] A[i, j] * x[j]
  y[j] = sum[i] A[i, j] * t[i]
)",
     {{{"M", 19}, {"N", 23}}}},
    {R"(program rows_and_columns(M, N)
  in  A: i32[M, N]
  in  p: i32[N]
  in  r: i32[M]
  out q: i32[M]
  out s: i32[N]
  q[i] = sum[j] A[i, j] * p[j]
  s[j] = sum[i] A[i, j] * r[i]
)",
     {{{"M", 22}, {"N", 18}}}},
    {R"(program row_sums(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  top[i]   = max[j] x[i, j]
  d[i, j]  = top[i] - x[i, j]
  total[i] = sum[j] d[i, j]
  y[i, j]  = d[i, j] + total[i]
)",
     {{{"M", 11}, {"N", 37}}}},
    {R"(program chain(M, N)
  in  a: i32[M, N]
  in  b: i32[M, N]
  out y: i32[M, N]
  out z: i32[M, N]
  t[i, j] = a[i, j] * b[i, j]
  u[i, j] = t[i, j] + a[i, j]
  y[i, j] = u[i, j] * 3
  z[i, j] = u[i, j] - t[i, j]
)",
     {{{"M", 14}, {"N", 33}}}},
    {R"(program blur(M, N)
  in  a: i32[M + 2, N + 2]
  out y: i32[M, N]
  bx[u, x] = a[u, x] + a[u, x+1] + a[u, x+2]     for u in 0..M+2, x in 0..N
  y[u, x]  = bx[u, x] + bx[u+1, x] + bx[u+2, x]  for u in 0..M, x in 0..N
)",
     {{{"M", 15}, {"N", 20}}}},
    {R"(program window(F, C, H, W)
  in    x: i32[C, H, W]
  const w: i32[F, C, 3, 3]
  out   y: i32[F, H, W]
  acc[f, h, q] = sum[c, r, s] (x[c, h+r-1, q+s-1] else 0) * w[f, c, r, s]  for h in 0..H, q in 0..W
  y[f, h, q] = max(acc[f, h, q], 0)
)",
     {{{"F", 5}, {"C", 3}, {"H", 8}, {"W", 18}}}},
    {R"(program turned(M, N)
  in  x: f32[M, N]
  out y: f32[N, M]
  y[i, j] = x[j, i]
)",
     {{{"M", 20}, {"N", 18}}}},
    {R"(program planes(B, M, N, K)
  in  A: f32[B, M, K]
  in  C: f32[B, K, N]
  out y: f32[B, M, N]
  y[b, i, j] = sum[k] A[b, i, k] * C[b, k, j]
)",
     {{{"B", 3}, {"M", 9}, {"N", 17}, {"K", 12}}}},
    {R"(program jacobi(T, N)
  inout A: f64[N, N]
  inout B: f64[N, N]
  loop t in 0..T
    B[i, j] = A[i, j] + A[i, j-1] + A[i, j+1] + A[i-1, j] + A[i+1, j]   for i in 1..N-1, j in 1..N-1
    A[i, j] = B[i, j] + B[i, j-1] + B[i, j+1] + B[i-1, j] + B[i+1, j]   for i in 1..N-1, j in 1..N-1
)",
     {{{"T", 3}, {"N", 19}}}},
    {R"(program jacobi_line(T, N)
  inout A: i64[N]
  inout B: i64[N]
  loop t in 0..T
    B[i] = A[i-1] + A[i] + A[i+1]   for i in 1..N-1
    A[i] = B[i-1] + B[i] + B[i+1]   for i in 1..N-1
)",
     {{{"T", 4}, {"N", 41}}}},
    {R"(program in_place(T, N)
  inout A: i64[N, N]
  loop t in 0..T
    A[i, j] = A[i-1, j] + A[i, j-1] + A[i, j] + A[i, j+1] + A[i+1, j]  for i in 1..N-1, j in 1..N-1
)",
     {{{"T", 3}, {"N", 18}}}},
    {R"(program elimination(N)
  inout A: i64[N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[i, j] += -A[i, k] * A[k, j]     for k in 0..j
      S1: A[i, j] = A[i, j] * A[j, j]
    S2: A[i, j] += -A[i, k] * A[k, j]       for j in i..N, k in 0..i
)",
     {{{"N", 19}}}},
    {R"(program triangle(N, M)
  inout C: i64[N, N]
  in    A: i64[N, M]
  S0: C[i, j] = C[i, j] * 2                 for i in 0..N, j in 0..i+1
  S1: C[i, j] += A[i, k] * A[j, k]          for i in 0..N, k in 0..M, j in 0..i+1
)",
     {{{"N", 18}, {"M", 13}}}},
    {R"(program triangle_in_place(M, N)
  in    A: i64[M, M]
  inout B: i64[M, N]
  loop i in 0..M
    loop j in 0..N
      S0: B[i, j] += A[k, i] * B[k, j]      for k in i+1..M
      S1: B[i, j] = B[i, j] * 3
)",
     {{{"M", 12}, {"N", 19}}}},
    {R"(program fields(T, M, N)
  inout ex: f64[M, N]
  inout ey: f64[M, N]
  inout hz: f64[M, N]
  loop t in 0..T
    S1: ey[i, j] = ey[i, j] - (hz[i, j] - hz[i-1, j])    for i in 1..M, j in 0..N
    S2: ex[i, j] = ex[i, j] - (hz[i, j] - hz[i, j-1])    for i in 0..M, j in 1..N
    S3: hz[i, j] = hz[i, j] - (ex[i, j+1] - ex[i, j] + ey[i+1, j] - ey[i, j])
        for i in 0..M-1, j in 0..N-1
)",
     {{{"T", 3}, {"M", 14}, {"N", 17}}}},
    {R"(program paths(N)
  inout p: i64[N, N]
  loop k in 0..N
    S: p[i, j] = min(p[i, j], p[i, k] + p[k, j])   for i in 0..N, j in 0..N
)",
     {{{"N", 17}}}},
    {R"(program substitution(N)
  in    L: i64[N, N]
  inout x: i64[N]
  loop i in 0..N
    S0: x[i] += -L[i, j] * x[j]   for j in 0..i
    S1: x[i] = x[i] * L[i, i]
)",
     {{{"N", 29}}}},
};

// The table's arrays have unused entries at their ends, without a name.
std::vector<RandomProgram> all_programs() {
  std::vector<RandomProgram> programs;
  for (const SizedProgram& each : kPrograms) {
    RandomProgram& program = programs.emplace_back(RandomProgram{.text = each.text});
    for (const auto& [name, size] : each.sizes)
      if (name) program.sizes[name] = size;
  }
  return programs;
}

}  // namespace

std::span<const RandomProgram> completion_programs() {
  static const std::vector<RandomProgram> kAll = all_programs();
  return kAll;
}

}  // namespace polyte::fuzz
