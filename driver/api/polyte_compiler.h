/* C API to compile single operators and to call them. Opaque handles, one table of functions
 * fetched by version; the table only grows, and `size` says how much of it there is. No C++
 * exception leaves it: a call that fails returns an exit status (docs/command-line.md) and, where
 * asked for, a polyte_failure with the text of all problems; it sets no other result. Handles are
 * freed by whoever got them, in any order; null is allowed. Texts and shapes belong to the handle
 * that they come from and live as long as it.
 *
 *   const polyte_compiler_api* api = polyte_compiler_get_api(1);
 *   polyte_program* program = NULL;
 *   polyte_kernel_object* kernel = NULL;
 *   api->program_from_notation("C[m,n] = sum[k] A[m,k]*B[k,n]", "f32", &program, NULL);
 *   polyte_options* options = api->options_new();
 *   api->options_set(options, "size.m", "64", NULL);   .. n, k
 *   api->compile(program, options, &kernel, NULL);
 *   api->execution_new(kernel, NULL, 2, NULL, &execution, NULL);
 *   void* data[] = {a, b, c};
 *   api->execution_run(execution, data, 3, NULL);
 *
 * A program that only runs artifacts needs none of this: runtime/polyte_runtime.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/dlpack_abi.h"
#include "support/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLYTE_COMPILER_API_VERSION 1

/* What is computed; options of a compilation; a compiled kernel; a kernel bound to threads;
 * what went wrong. */
typedef struct polyte_program polyte_program;
typedef struct polyte_options polyte_options;
typedef struct polyte_kernel_object polyte_kernel_object;
typedef struct polyte_execution polyte_execution;
typedef struct polyte_failure polyte_failure;

/* What a Program does with a tensor. Constants may be laid out anew, once for each execution. */
enum polyte_tensor_role { POLYTE_IN = 0, POLYTE_CONST = 1, POLYTE_OUT = 2, POLYTE_INOUT = 3 };

/* A tensor of a kernel's interface. */
typedef struct polyte_kernel_tensor {
  const char* name;
  int32_t role; /* POLYTE_IN, .. */
  polyte_dl_type dtype;
  int32_t ndim; /* dimensions; 0: one element */
  const int64_t*
      shape; /* rows are dense, the last dimension is innermost; -1 where open sizes decide */
} polyte_kernel_tensor; /* filled in by kernel_tensor */

/* A size that a kernel leaves open: its name, and what it may be. */
typedef struct polyte_open_size {
  const char* name;
  int64_t least, most;
} polyte_open_size; /* filled in by kernel_open_size */

/* Texts of a kernel: the schedule, as a script that compiles to it again; the same one step a line,
 * with who chose it; the loops that it led to; whose schedule it has ("poly", "script"; "naive"
 * where what was asked declined); why that declined, "" where it did not. */
enum polyte_kernel_text {
  POLYTE_SCRIPT = 0,
  POLYTE_DIRECTIVES = 1,
  POLYTE_LOOPS = 2,
  POLYTE_SCHEDULER = 3,
  POLYTE_DECLINED = 4
};

/* The functions. Statuses are those of docs/command-line.md: 0 is success. */
typedef struct polyte_compiler_api {
  uint32_t size;    /* sizeof(polyte_compiler_api) of the library */
  uint32_t version; /* POLYTE_COMPILER_API_VERSION of the library */

  /* Program text with one program (docs/program-text.md); `origin` stands for a file's name in
   * messages, null: "program". Or one operator in index notation, all of whose tensors have this
   * element type ("f32"). */
  int (*program_from_text)(const char* text, const char* origin, polyte_program** program,
                           polyte_failure** failure);
  int (*program_from_notation)(const char* notation, const char* dtype, polyte_program** program,
                               polyte_failure** failure);
  const char* (*program_text)(const polyte_program* program);
  void (*program_free)(polyte_program* program);

  /* Options by name and text: "scheduler" (naive, isl, poly, template), "script" (its text),
   * "param.NAME" of it, "size.NAME" of the Program, "open.NAME" of a size that its calls say
   * ("", or "1..256..65536": the least, typical and most), "target" ("native"), "threads"
   * that the schedule is made for (0: as many as processors), "templates" (a folder), "cache"
   * (a folder, or "default": kernels are kept between processes), "strict", "exact" and
   * "second_judge" ("0" or "1"). 2 where there is no such option or its text says nothing. Null
   * where there is no memory. */
  polyte_options* (*options_new)(void); /* NOLINT(modernize-redundant-void-arg): C */
  int (*options_set)(polyte_options* options, const char* name, const char* text,
                     polyte_failure** failure);
  void (*options_free)(polyte_options* options);

  /* `options` may be null. From any thread; kernels may be used from any number of threads. */
  int (*compile)(const polyte_program* program, const polyte_options* options,
                 polyte_kernel_object** kernel, polyte_failure** failure);
  void (*kernel_free)(polyte_kernel_object* kernel);
  /* A kernel as a file, of this processor and those like it. It is machine code: load what you
   * trust. Not of a GPU's. */
  int (*kernel_save)(const polyte_kernel_object* kernel, const char* path,
                     polyte_failure** failure);
  int (*kernel_load)(const char* path, polyte_kernel_object** kernel, polyte_failure** failure);
  int32_t (*kernel_tensor_count)(const polyte_kernel_object* kernel);
  /* In the order of the Program's declarations. 0, or 2 where there is no such tensor. */
  int (*kernel_tensor)(const polyte_kernel_object* kernel, int32_t index,
                       polyte_kernel_tensor* tensor);
  const char* (*kernel_text)(const polyte_kernel_object* kernel,
                             int32_t which); /* null: there is no such text */
  int32_t (*kernel_note_count)(const polyte_kernel_object* kernel); /* what was not done as asked */
  const char* (*kernel_note)(const polyte_kernel_object* kernel, int32_t index);

  /* What one thread at a time calls, on any memory. `constants`: null where the kernel has none,
   * else an address for each tensor, of which those of constants are read now; their memory
   * outlives the execution. Parallel loops run on `threads` threads of its own, or on the caller's:
   * `host` with its parallel_for (support/kernel_abi.h), which outlives the execution, and
   * `threads` is not looked at. The kernel may be freed before it. */
  int (*execution_new)(const polyte_kernel_object* kernel, void* const* constants, int32_t threads,
                       const polyte_host* host, polyte_execution** execution,
                       polyte_failure** failure);
  /* An address for each tensor, in their order; those of constants are not looked at. What is
   * written overlaps nothing else. Allocates nothing where all is well. */
  int (*execution_run)(polyte_execution* execution, void* const* data, int32_t count,
                       polyte_failure** failure);
  void (*execution_free)(polyte_execution* execution);

  const char* (*failure_text)(const polyte_failure* failure); /* one problem per line */
  int (*failure_status)(const polyte_failure* failure); /* the status that the call returned */
  void (*failure_free)(polyte_failure* failure);        /* null is allowed */

  /* Sizes that the kernel leaves open, in the Program's order; 0 where all are bound. The second:
   * 0, or 2 where there is no such size. */
  int32_t (*kernel_open_size_count)(const polyte_kernel_object* kernel);
  int (*kernel_open_size)(const polyte_kernel_object* kernel, int32_t index,
                          polyte_open_size* size);
  /* The extents of a tensor, `ndim` of them into `shape`, at values of the open sizes in their
   * order. */
  int (*kernel_shape)(const polyte_kernel_object* kernel, int32_t tensor, const int64_t* sizes,
                      int32_t count, int64_t* shape, polyte_failure** failure);
  /* execution_run at these values of the open sizes, in their order: every tensor's memory is as
   * large as they say. Allocates nothing where they are those of the run before. Constants of open
   * size need C++ or Python. */
  int (*execution_run_at)(polyte_execution* execution, void* const* data, int32_t count,
                          const int64_t* sizes, int32_t size_count, polyte_failure** failure);
  /* From the next run on, memory of that tensor, which is no constant, is not dense: it has these
   * strides in elements, `count` of them, outermost first; its address is that of the element with
   * the subscripts 0. Null: it is dense. Each run copies such elements first and, where they are
   * written, back; whether they overlap other tensors is not checked. */
  int (*execution_set_strides)(polyte_execution* execution, int32_t tensor, const int64_t* strides,
                               int32_t count, polyte_failure** failure);
} polyte_compiler_api; /* fetched by polyte_compiler_get_api */

/* The table, or null when the library is older than `version`, of which the first is 1. */
const polyte_compiler_api* polyte_compiler_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif
