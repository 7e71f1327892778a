/* Loaded before all libraries (LD_PRELOAD): makes one kind of call fail, as where the system has run out of what it gives.
 *
 *   FAIL_CALL=mmap FAIL_AT=3 FAIL_COUNT=1   the third call fails; FAIL_COUNT=0: all calls from there on
 *   FAIL_REPORT=FILE                        at the end the number of calls is written there
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char* failing_call;
static long fail_at, fail_count;
static atomic_long calls;

__attribute__((constructor)) static void read_environment(void) {
  const char* at = getenv("FAIL_AT");
  const char* count = getenv("FAIL_COUNT");
  fail_at = at != NULL ? atol(at) : 0;
  fail_count = count != NULL ? atol(count) : 1;
  failing_call = getenv("FAIL_CALL");
}

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("FAIL_REPORT");
  char text[32];
  if (path == NULL) return;
  const int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return;
  if (syscall(SYS_write, file, text, (size_t)length) < 0) abort();
  syscall(SYS_close, file);
}

/* Whether this call is to fail; errno is set then. */
static int fails(const char* call, int error) {
  if (failing_call == NULL || strcmp(call, failing_call) != 0) return 0;
  const long number = atomic_fetch_add(&calls, 1) + 1;
  if (fail_at == 0 || number < fail_at || (fail_count > 0 && number >= fail_at + fail_count)) return 0;
  errno = error;
  return 1;
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails("malloc", ENOMEM) ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails("malloc", ENOMEM) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return fails("malloc", ENOMEM) ? NULL : __libc_memalign(alignment, size);
}
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (fails("mmap", ENOMEM)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  return mmap(at, size, protection, flags, file, offset);
}
static int opened(int folder, const char* path, int flags, va_list more) {
  const int mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, int) : 0;
  return fails("open", EMFILE) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}
#define OPENS(folder, path)                             \
  va_list more;                                         \
  va_start(more, flags);                                \
  const int file = opened((folder), (path), flags, more); \
  va_end(more);                                         \
  return file
int open(const char* path, int flags, ...) { OPENS(AT_FDCWD, path); }
int open64(const char* path, int flags, ...) { OPENS(AT_FDCWD, path); }
int openat(int folder, const char* path, int flags, ...) { OPENS(folder, path); }
int openat64(int folder, const char* path, int flags, ...) { OPENS(folder, path); }
FILE* fopen(const char* path, const char* mode) {
  FILE* (*next)(const char*, const char*) = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen");
  return fails("open", EMFILE) ? NULL : next(path, mode);
}
int memfd_create(const char* name, unsigned flags) {
  return fails("memfd_create", EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}
int pipe2(int ends[2], int flags) { return fails("pipe2", EMFILE) ? -1 : (int)syscall(SYS_pipe2, ends, flags); }
/* Not what people read: that a terminal cannot be written to is another matter. */
ssize_t write(int file, const void* data, size_t size) {
  if (file > 2 && fails("write", ENOSPC)) return -1;
  return syscall(SYS_write, file, data, size);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  typedef int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  create next = (create)dlsym(RTLD_NEXT, "pthread_create");
  return fails("pthread_create", EAGAIN) ? EAGAIN : next(thread, attributes, start, argument);
}
