// The binary contract between compiled kernels and whoever calls them. Plain C, append-only.
//
// A kernel is `int k(const void* const* buffers, void* scratch, const polyte_host* host)`:
//   buffers  one pointer per interface buffer, in the order of the Program's declarations, each
//            aligned to its element (a buffer may be a part of another one); a result may be an
//            operand where the compiler knew so. A kernel with open sizes gets one more, the last:
//            the values of all symbols of the artifact as int64_t, in the order of its manifest,
//            each in its range
//   scratch  the kernel's workspace, `scratch_bytes` of the artifact's manifest,
//            64-byte aligned; below a parallel loop each worker uses its own slice:
//            scratch + worker * scratch_bytes_per_worker
//   returns  0, or POLYTE_OUT_OF_BOUNDS; never crashes by design
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Body of a parallel loop: runs iterations [begin, end) as worker `worker` (0 <= worker < workers).
typedef void (*polyte_parallel_body)(void* context, int64_t begin, int64_t end, int64_t worker);

// An access to memory in a kernel of a GPU, as the code that a CPU runs for it reports
// it: constant data.
typedef struct polyte_access {
  const char* statement;  // whose it is, "acc.update"; of a copy the buffer that it fills
  const char* buffer;     // "x.c"
  int64_t place;          // counts the accesses of the kernel
  int64_t bytes, alignment;
  // 0: a read; 1: a write; 2: both in one step that no other thread comes between (POLYTE_ATOMIC).
  int64_t write;
  int64_t element;  // bytes of each of its elements
  // A read for a copy: an element that was never written is no fault until it is used.
  int64_t moves;
} polyte_access;

#define POLYTE_ATOMIC 2
#define POLYTE_EMULATED_SHARED 128  // no multiple of more, as on a GPU

// One thread of a GPU that a CPU emulates, as compiled code sees it (runtime/emulator.h).
typedef struct polyte_emulated_thread {
  int64_t thread;    // its number in the block
  int64_t block[3];  // x, y, z
  void* shared;      // memory of the block
  // All threads of the block, or of the warp, wait here for each other. `place` counts the barriers
  // of the kernel.
  void (*meet)(struct polyte_emulated_thread* self, int64_t of_warp, int64_t place);
  // Called before every access to memory that is not the thread's own. `iteration` tells the
  // executions of the access apart: it has one value for one value of all loops around. A read
  // that moves returns a bit for each element that was never written; a write is given those of the
  // elements that it writes. Without an address: elements that such a read has returned are used.
  uint64_t (*touch)(struct polyte_emulated_thread* self, const void* address,
                    const polyte_access* access, int64_t iteration, uint64_t undefined);
  // Copies `given` bytes to shared memory and zeros behind them up to write->bytes, some time
  // between now and when the thread waits for its group. What is not given is not read.
  void (*copy)(struct polyte_emulated_thread* self, void* to, const void* from,
               const polyte_access* write, const polyte_access* read, int64_t given,
               int64_t iteration);
  // The thread's copies since the last call are a group; or (wait) it goes on once at most
  // `pending` groups are under way.
  void (*group)(struct polyte_emulated_thread* self, int64_t wait, int64_t pending);
  // An instruction of the whole warp: every lane takes part with its registers, 32 bits each,
  // and goes on with those of the result once all have come. `instruction`: an operation of
  // matrices by its name in PTX, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32". Memory is
  // not ordered by it.
  void (*multiply)(struct polyte_emulated_thread* self, const char* instruction, const uint32_t* in,
                   uint32_t* out);
  // ldmatrix: lane 8 i + r brings the address of row r of matrix i, 8 elements of 16 bits; each
  // lane gets one register of each of the `count` matrices. `transposed`: of the matrices' columns.
  void (*load_matrices)(struct polyte_emulated_thread* self, const void* row, int64_t count,
                        int64_t transposed, uint32_t* out, const polyte_access* access,
                        int64_t iteration);
  // An instruction of four warps (wgmma) on matrices in shared memory, by its name in PTX and their
  // descriptors, in which shared memory begins at POLYTE_EMULATED_SHARED. `across`: 1 for a, 2 for
  // b: the sum does not run along the lines. The `count` registers of the result are those of `in`
  // once the thread has waited for its group, and nothing before.
  void (*multiply_shared)(struct polyte_emulated_thread* self, const char* instruction, uint64_t a,
                          uint64_t b, int64_t across, int64_t count, const uint32_t* in,
                          uint32_t* out);
  // Such instructions may take registers over from now on (0), those since then are a group (1),
  // the thread goes on once at most `pending` groups are under way, with `count` registers that
  // results are in (2).
  void (*product_group)(struct polyte_emulated_thread* self, int64_t step, int64_t pending,
                        int64_t count, const uint32_t* in, uint32_t* out);
  // What the thread has written into shared memory can be read by such instructions after the
  // next barrier.
  void (*fence_products)(struct polyte_emulated_thread* self);
  // Registers of other lanes: every lane brings one, its bit 32 set if it was ever written, and
  // goes on with the one of lane number `lane` modulo 32.
  uint64_t (*exchange)(struct polyte_emulated_thread* self, uint64_t value, int64_t lane);
  // What was exchanged is computed with: `written` is 0 where it has no value.
  void (*use)(struct polyte_emulated_thread* self, const char* statement, const char* buffer,
              int64_t written);
} polyte_emulated_thread;

// A kernel of the device, as the code that launches it describes it: constant data. Where a CPU
// runs the threads, a library of kernels has it under the symbol "<kernel>" POLYTE_LAUNCH_SUFFIX.
#define POLYTE_LAUNCH_SUFFIX ".launch"
typedef struct polyte_launch {
  const char* kernel;    // its name in the device's code
  int64_t threads;       // of a block
  int64_t shared_bytes;  // of a block
  int64_t arguments;     // how many: pointers into the device's memory and integers, 8 bytes each
  // Runs one thread on a CPU; null: the device's code is for a GPU.
  void (*emulated)(polyte_emulated_thread* thread, const void* const* arguments);
} polyte_launch;

typedef struct polyte_host {
  uint32_t size;     // sizeof(polyte_host) of the caller; members are only appended
  uint32_t workers;  // how many workers parallel_for uses at most; scratch holds as many slices
  void* self;        // handed back to parallel_for
  // Runs body over [begin, end), split into contiguous chunks in a way that depends only on the
  // range and on `workers`; returns when all are done. A null pointer means: the kernel calls the
  // body itself, serially.
  void (*parallel_for)(void* self, polyte_parallel_body body, void* context, int64_t begin,
                       int64_t end);
  // For kernels of a GPU: `buffers` and `scratch` are memory of the device. Starts
  // grid[0] * grid[1] * grid[2] blocks, x first, after all that was started before; `arguments`
  // points to each. Returns 0, or what the kernel is to return.
  int (*launch)(void* self, const polyte_launch* launch, const int64_t* grid,
                const void* const* arguments);
  // An address of the device's: where its code writes what the kernel would return.
  int32_t* device_status;
} polyte_host;

// What a kernel returns where a subscript that it read at run time is no place of its dimension.
// The outputs are undefined then, and nothing outside the buffers was touched.
#define POLYTE_OUT_OF_BOUNDS 1
// A kernel of a GPU was called with a host that has no `launch`.
#define POLYTE_NO_DEVICE 2

typedef int (*polyte_kernel)(const void* const* buffers, void* scratch, const polyte_host* host);

// What a kernel says of itself: read-only int64_t data under the symbol "<kernel>"
// POLYTE_INTERFACE_SUFFIX, by which a loader checks what it is about to call the kernel with.
// In order:
//   POLYTE_INTERFACE_VERSION, number of buffers, number of symbols (sizes that are open; the
//   pointer to their values comes after those of the buffers and is not counted),
//   scratch_shared_bytes, scratch_bytes_per_worker, number of pairs of buffers that may be one and
//   the same memory
//   per buffer: POLYTE_READS | POLYTE_WRITES or 0, which is never looked at; element type (the
//               order of support/dtype.h); alignment in bytes; then the number of bytes: a
//               constant, and a multiple of each symbol. A constant of -1: not known
//   per pair:   the numbers of the two buffers
#define POLYTE_INTERFACE_SUFFIX ".interface"
#define POLYTE_INTERFACE_VERSION 1
#define POLYTE_READS 1
#define POLYTE_WRITES 2

#ifdef __cplusplus
}
#endif
