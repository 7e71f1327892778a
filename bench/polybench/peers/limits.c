// What limits.py times: seconds to read an array, and of steps that read one array and write
// another.
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

DATA_TYPE read_sum;  // so that the reads are not dead

enum { kChains = 64 };  // sums that wait for none of each other

double read_once(const DATA_TYPE *restrict a, long n) {
  const double start = now();
  DATA_TYPE sums[kChains] = {0};
  for (long i = 0; i + kChains <= n; i += kChains)
    for (int j = 0; j < kChains; ++j) sums[j] += a[i + j];
  for (int j = 0; j < kChains; ++j) read_sum += sums[j];
  return now() - start;
}

static void copy(const DATA_TYPE *restrict from, DATA_TYPE *restrict to, long n) {
  for (long i = 0; i < n; ++i) to[i] = from[i];
}

double sweep(DATA_TYPE *a, DATA_TYPE *b, long n, long steps) {
  const double start = now();
  for (long step = 0; step < steps; ++step) {
    if (step % 2 == 0)
      copy(a, b, n);
    else
      copy(b, a, n);
  }
  return now() - start;
}
