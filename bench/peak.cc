#include "bench/peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace polyte::bench {
namespace {

constexpr int kChains = 12;  // more than latency x throughput of any FMA unit
constexpr int kSteps = 20000;

// Independent chains of multiply-adds in registers. One body; the functions below differ by
// width and type only.
#define POLYTE_PEAK(Name, Features, Vector, Scalar, Splat, Fma)                            \
  __attribute__((target(Features), noinline)) double Name() {                              \
    Vector x = Splat(static_cast<Scalar>(1)), y = Splat(static_cast<Scalar>(0.5));         \
    asm volatile("" : "+v"(x), "+v"(y));                                                   \
    Vector a0 = x, a1 = x, a2 = x, a3 = x, a4 = x, a5 = x, a6 = x, a7 = x, a8 = x, a9 = x, \
           a10 = x, a11 = x;                                                               \
    for (int step = 0; step < kSteps; ++step) {                                            \
      a0 = Fma(a0, x, y), a1 = Fma(a1, x, y), a2 = Fma(a2, x, y), a3 = Fma(a3, x, y);      \
      a4 = Fma(a4, x, y), a5 = Fma(a5, x, y), a6 = Fma(a6, x, y), a7 = Fma(a7, x, y);      \
      a8 = Fma(a8, x, y), a9 = Fma(a9, x, y), a10 = Fma(a10, x, y), a11 = Fma(a11, x, y);  \
      asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5));       \
      asm volatile("" : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11));     \
    }                                                                                      \
    return 2.0 * kChains * kSteps * static_cast<int>(sizeof(Vector) / sizeof(Scalar));     \
  }

POLYTE_PEAK(run_512_f32, "avx512f", __m512, float, _mm512_set1_ps, _mm512_fmadd_ps)
POLYTE_PEAK(run_512_f64, "avx512f", __m512d, double, _mm512_set1_pd, _mm512_fmadd_pd)
POLYTE_PEAK(run_256_f32, "avx2,fma", __m256, float, _mm256_set1_ps, _mm256_fmadd_ps)
POLYTE_PEAK(run_256_f64, "avx2,fma", __m256d, double, _mm256_set1_pd, _mm256_fmadd_pd)
#undef POLYTE_PEAK

double best_rate(double (*run)()) {
  double best = 0;
  for (int trial = 0; trial < 5; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    const double flops = run();
    best = std::max(
        best,
        flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

double measure_peak(const Machine& machine, DType type) {
  const bool wide = machine.vector_bits >= 512;
  if (machine.gpu || !machine.has_fma || (type != DType::F32 && type != DType::F64)) return 0;
  if (type == DType::F32) return best_rate(wide ? run_512_f32 : run_256_f32);
  return best_rate(wide ? run_512_f64 : run_256_f64);
}

}  // namespace polyte::bench
