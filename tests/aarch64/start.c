// The program around one kernel, without a C library: reads a description and the contents of all buffers, calls the
// kernel, writes the contents back.
//
//   in:   i64 count, i64 scratch bytes, i64 bytes of each buffer, the buffers one after the other
//   out:  i64 what the kernel returned, the buffers
typedef long i64;
typedef unsigned char byte;

int polyte_kernel_entry(const void* const* buffers, void* scratch, const void* host);

enum { kRead = 63, kWrite = 64, kExit = 93, kMmap = 222, kMostBuffers = 64 };

static i64 call(i64 number, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
  register i64 x8 __asm__("x8") = number;
  register i64 x0 __asm__("x0") = a;
  register i64 x1 __asm__("x1") = b;
  register i64 x2 __asm__("x2") = c;
  register i64 x3 __asm__("x3") = d;
  register i64 x4 __asm__("x4") = e;
  register i64 x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

static void leave(i64 status) {
  call(kExit, status, 0, 0, 0, 0, 0);
  __builtin_unreachable();
}

// All of it, or the program ends.
static void move(i64 number, i64 file, void* data, i64 bytes) {
  for (byte* at = data; bytes > 0;) {
    const i64 count = call(number, file, (i64)at, bytes, 0, 0, 0);
    if (count <= 0) leave(2);
    at += count;
    bytes -= count;
  }
}

static void* memory(i64 bytes) {
  const i64 place = call(kMmap, 0, bytes + 4096, 3, 0x22, -1, 0);  // private and anonymous, to read and write
  if (place < 0 && place > -4096) leave(3);
  return (void*)place;
}

void _start(void) {
  i64 head[2], bytes[kMostBuffers], status;
  const void* buffers[kMostBuffers + 1];
  move(kRead, 0, head, sizeof head);
  if (head[0] > kMostBuffers) leave(4);
  move(kRead, 0, bytes, head[0] * 8);
  for (i64 i = 0; i < head[0]; ++i) {
    void* const data = memory(bytes[i]);
    move(kRead, 0, data, bytes[i]);
    buffers[i] = data;
  }
  status = polyte_kernel_entry(buffers, memory(head[1]), 0);
  move(kWrite, 1, &status, 8);
  for (i64 i = 0; i < head[0]; ++i) move(kWrite, 1, (void*)buffers[i], bytes[i]);
  leave(0);
}
