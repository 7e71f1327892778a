/* Kernels for the tests, as a compiler would write them: built as a shared object of their own. */
#include "support/kernel_abi.h"

enum { kN = 1000, kF32 = 1, kI64 = 7 };

/* What the compiler says of its kernels: buffers, symbols, scratch, pairs, then each buffer. */
#define INTERFACE(kernel, ...)                                                           \
  extern const int64_t kernel##_interface[] __asm__(#kernel POLYTE_INTERFACE_SUFFIX);    \
  const int64_t kernel##_interface[] = {POLYTE_INTERFACE_VERSION, __VA_ARGS__}
#define READS(type, ...) POLYTE_READS, k##type, (k##type == kI64 ? 8 : 4), __VA_ARGS__
#define WRITES(type, ...) POLYTE_WRITES, k##type, (k##type == kI64 ? 8 : 4), __VA_ARGS__

INTERFACE(add, 3, 0, 0, 0, 0, READS(F32, 4 * kN), READS(F32, 4 * kN), WRITES(F32, 4 * kN));
INTERFACE(mul_through_scratch, 3, 0, 64, 4096, 0, READS(F32, 4 * kN), READS(F32, 4 * kN), WRITES(F32, 4 * kN));
INTERFACE(who, 1, 0, 0, 0, 0, WRITES(I64, 8 * kN));
INTERFACE(crew, 1, 0, 0, 0, 0, WRITES(I64, 8));
INTERFACE(refuse_negative, 1, 0, 0, 0, 0, READS(F32, 4 * kN));
INTERFACE(open_rows, 3, 2, 0, 0, 0, READS(F32, 0, 16, 0), READS(F32, 0, 4, 0), WRITES(F32, 0, 16, 0));
INTERFACE(open_join, 3, 2, 0, 0, 0, READS(F32, 0, 16, 0), READS(F32, 0, 0, 4), WRITES(F32, 4, 8, 4));
INTERFACE(address, 2, 0, 0, 0, 0, 0, 0, 1, 0, WRITES(I64, 8));

int add(const void* const* buffers, void* scratch, const polyte_host* host) {
  const float* a = buffers[0];
  const float* b = buffers[1];
  float* c = (float*)buffers[2];
  (void)scratch;
  (void)host;
  for (int i = 0; i < kN; ++i) c[i] = a[i] + b[i];
  return 0;
}

/* Says nothing of itself. */
int not_described(const void* const* buffers, void* scratch, const polyte_host* host) {
  (void)buffers;
  (void)scratch;
  (void)host;
  return 0;
}

typedef struct loop_context {
  const void* const* buffers;
  char* scratch;
} loop_context;

/* Each worker passes its part through its own slice of the scratch, behind the shared 64 bytes. */
static void mul_body(void* context, int64_t begin, int64_t end, int64_t worker) {
  const loop_context* c = context;
  float* slice = (float*)(c->scratch + 64 + worker * 4096);
  const float* a = c->buffers[0];
  const float* b = c->buffers[1];
  float* out = (float*)c->buffers[2];
  for (int64_t i = begin; i < end; ++i) slice[i - begin] = a[i] * b[i];
  for (int64_t i = begin; i < end; ++i) out[i] = slice[i - begin];
}

int mul_through_scratch(const void* const* buffers, void* scratch, const polyte_host* host) {
  loop_context context = {buffers, scratch};
  host->parallel_for(host->self, mul_body, &context, 0, kN);
  return 0;
}

static void who_body(void* context, int64_t begin, int64_t end, int64_t worker) {
  for (int64_t i = begin; i < end; ++i) ((int64_t*)context)[i] = worker;
}

int who(const void* const* buffers, void* scratch, const polyte_host* host) {
  (void)scratch;
  if (host->parallel_for != 0) {
    host->parallel_for(host->self, who_body, (void*)buffers[0], 0, kN);
  } else {
    who_body((void*)buffers[0], 0, kN, 0);
  }
  return 0;
}

int crew(const void* const* buffers, void* scratch, const polyte_host* host) {
  (void)scratch;
  *(int64_t*)buffers[0] = host->workers;
  return 0;
}

int refuse_negative(const void* const* buffers, void* scratch, const polyte_host* host) {
  const float* x = buffers[0];
  (void)scratch;
  (void)host;
  for (int i = 0; i < kN; ++i) {
    if (x[i] < 0) return 7;
  }
  return 0;
}

/* Kernels of open sizes: {batch, seq} is their last buffer. */

/* t[b][j] = 2 * x[b][j] + z[b], four columns. */
int open_rows(const void* const* buffers, void* scratch, const polyte_host* host) {
  const float* x = buffers[0];
  const float* z = buffers[1];
  float* t = (float*)buffers[2];
  const int64_t batch = ((const int64_t*)buffers[3])[0];
  (void)scratch;
  (void)host;
  for (int64_t i = 0; i < 4 * batch; ++i) t[i] = 2 * x[i] + z[i / 4];
  return 0;
}

/* u = first column of t, last column of t, p, 1000 * batch + seq. */
int open_join(const void* const* buffers, void* scratch, const polyte_host* host) {
  const float* t = buffers[0];
  const float* p = buffers[1];
  float* u = (float*)buffers[2];
  const int64_t* sizes = buffers[3];
  const int64_t batch = sizes[0];
  const int64_t seq = sizes[1];
  (void)scratch;
  (void)host;
  for (int64_t i = 0; i < batch; ++i) {
    u[i] = t[4 * i];
    u[batch + i] = t[4 * i + 3];
  }
  for (int64_t i = 0; i < seq; ++i) u[2 * batch + i] = p[i];
  u[2 * batch + seq] = (float)(1000 * batch + seq);
  return 0;
}

/* Where its first buffer lies. */
int address(const void* const* buffers, void* scratch, const polyte_host* host) {
  (void)scratch;
  (void)host;
  *(int64_t*)buffers[1] = (int64_t)(intptr_t)buffers[0];
  return 0;
}
