// The same for tests/aarch64/start.c, without a C library: it brings the buffers and takes them back.
#include "@NAME@.h"

static _Alignas(64) unsigned char pool[1 << 22];
static size_t used;

static void* memory(size_t bytes) {
  void* data = pool + used;
  used += (bytes + 63) / 64 * 64;
  return used <= sizeof pool ? data : 0;
}

static void* workspace_of(size_t bytes) { return memory(bytes); }

int polyte_kernel_entry(const void* const* buffers, void* scratch, const void* host) {
  const int workers = 1;
  int code = 0;
  (void)scratch, (void)host;
@ARRAYS@
@CALL@
  return code;
}
