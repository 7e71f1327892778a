// The program around one operator (ahead_of_time_test.py fills in what is between @): reads its buffers from the file
// that is named, calls it, writes the results to stdout.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "@NAME@.h"

enum { kWorkers = 3 };

static void* memory(size_t bytes) {
  void* data = 0;
  return posix_memalign(&data, 64, bytes + 1) == 0 ? data : 0;
}

// With bytes behind it that must stay as they are.
static unsigned char *scratch, *behind;

static void* workspace_of(size_t bytes) {
  size_t i;
  scratch = (unsigned char*)memory(bytes + 64);
  behind = scratch + bytes;
  for (i = 0; i < 64; ++i) behind[i] = 0x5a;
  return bytes > 0 ? scratch : 0;
}

static int is_whole(void) {
  size_t i;
  for (i = 0; i < 64; ++i)
    if (behind[i] != 0x5a) return 0;
  return 1;
}

// A caller's own threads: one a worker, made for the occasion.
struct part {
  polyte_body body;
  void* context;
  int64_t begin, end, worker;
};

static void* run_part(void* data) {
  struct part* one = (struct part*)data;
  one->body(one->context, one->begin, one->end, one->worker);
  return 0;
}

static void threads_for(void* self, polyte_body body, void* context, int64_t begin, int64_t end) {
  pthread_t threads[kWorkers];
  struct part parts[kWorkers];
  int i;
  ++*(int*)self;
  for (i = 0; i < kWorkers; ++i) {
    const int64_t first = begin + (end - begin) * i / kWorkers, last = begin + (end - begin) * (i + 1) / kWorkers;
    parts[i].body = body, parts[i].context = context, parts[i].worker = i;
    parts[i].begin = first, parts[i].end = last;
    if (pthread_create(&threads[i], 0, run_part, &parts[i]) != 0) abort();
  }
  for (i = 0; i < kWorkers; ++i) pthread_join(threads[i], 0);
}

int main(int count, char** names) {
  int code = 0, loops = 0;
  unsigned workers;
  polyte_threads by_threads;
  FILE *in = count > 1 ? fopen(names[1], "rb") : 0, *out = stdout;
#ifdef _OPENMP
  const polyte_threads by_openmp = polyte_openmp(2);
  const polyte_threads* const openmp = &by_openmp;
  (void)openmp;
#endif
  const polyte_threads* given = THREADS;
@DECLARE@
  by_threads.workers = kWorkers;
  by_threads.self = &loops;
  by_threads.parallel_for = threads_for;
  (void)by_threads;
  if (!in) return 90;
  workers = given ? given->workers : 1;
@READ@
@CALL@
  if (code != 0) {
    fprintf(stderr, "%s\n", polyte_error(code));
    return code;
  }
  if (!is_whole()) return 93;
#ifdef PARALLEL
  if (loops == 0) return 92;
#endif
@WRITE@
  return 0;
}
