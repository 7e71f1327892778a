// Runs `kernel` once and returns how long it took: the clock stands beside the call, as it does in Polyte's runtime.
#define _POSIX_C_SOURCE 199309L
#include <time.h>

void kernel();  // of BUFFERS pointers

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double seconds(void** b) {
  double start = now();
#if BUFFERS == 1
  kernel(b[0]);
#elif BUFFERS == 2
  kernel(b[0], b[1]);
#elif BUFFERS == 3
  kernel(b[0], b[1], b[2]);
#elif BUFFERS == 4
  kernel(b[0], b[1], b[2], b[3]);
#elif BUFFERS == 5
  kernel(b[0], b[1], b[2], b[3], b[4]);
#elif BUFFERS == 9
  kernel(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
#else
#error "write this call"
#endif
  return now() - start;
}
