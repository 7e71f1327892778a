/* C API to run artifacts. Opaque handles, one table of functions fetched by version; the table only
 * grows, and `size` says how much of it there is. No C++ exception leaves it: a call that fails
 * returns an exit status (see docs/command-line.md) and, where asked for, a polyte_problem with the
 * text of all problems. Of a null session there is nothing: counts are 0 and calls fail with 2. A
 * process that forked may run and close a session in its child; the threads stay with the parent,
 * so the child runs alone.
 *
 *   const polyte_runtime_api* api = polyte_runtime_get_api(1);
 *   polyte_session* session = NULL;
 *   polyte_problem* problem = NULL;
 *   if (api->session_open("digits.polyte", 0, &session, &problem) != 0)
 *     puts(api->problem_text(problem));
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/dlpack_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLYTE_RUNTIME_API_VERSION 1

/* An open artifact, to be closed by whoever opened it; and what went wrong, to be freed by whoever
 * asked for it. */
typedef struct polyte_session polyte_session;
typedef struct polyte_problem polyte_problem;

/* An input or output of an artifact: dense, row-major. */
typedef struct polyte_tensor_info {
  const char* name;     /* valid as long as the session */
  polyte_dl_type dtype; /* of an element */
  int32_t ndim;         /* dimensions; 0: one element */
  const int64_t*
      shape; /* valid as long as the session; -1 where the extent depends on the sizes of a run */
} polyte_tensor_info; /* filled in by input_info and output_info */

/* A size that an artifact leaves open; each run takes its value from the shapes of the inputs. */
typedef struct polyte_symbol_info {
  const char* name;    /* valid as long as the session */
  int64_t least, most; /* its range, both included */
} polyte_symbol_info;  /* filled in by symbol_info */

/* The functions. Statuses are those of docs/command-line.md: 0 is success. */
typedef struct polyte_runtime_api {
  uint32_t size;    /* sizeof(polyte_runtime_api) of the library */
  uint32_t version; /* POLYTE_RUNTIME_API_VERSION of the library */

  /* Opens an artifact; threads 0 means one per processor. `problem` may be null. */
  int (*session_open)(const char* path, int32_t threads, polyte_session** session,
                      polyte_problem** problem);
  void (*session_close)(polyte_session* session); /* null is allowed */
  int32_t (*input_count)(const polyte_session* session);
  int32_t (*output_count)(const polyte_session* session);
  /* 0, or 2 when there is no such tensor. */
  int (*input_info)(const polyte_session* session, int32_t index, polyte_tensor_info* info);
  int (*output_info)(const polyte_session* session, int32_t index, polyte_tensor_info* info);
  /* Runs on the caller's dense CPU tensors (DLTensor layout), in the order of the infos.
   * Thread-safe. */
  int (*session_run)(const polyte_session* session, const polyte_dl_tensor* inputs,
                     int32_t input_count, const polyte_dl_tensor* outputs, int32_t output_count,
                     polyte_problem** problem);

  const char* (*problem_text)(const polyte_problem* problem); /* valid until problem_free */
  int (*problem_status)(const polyte_problem* problem); /* the status that the call returned */
  void (*problem_free)(polyte_problem* problem);        /* null is allowed */

  /* The steps of a run, in order: how many, and of each the group of operators that it came from
   * and its kernel ("" of a copy); null when there is no such step. The texts are valid as long
   * as the session. */
  int32_t (*step_count)(const polyte_session* session);
  const char* (*step_group)(const polyte_session* session, int32_t index);
  const char* (*step_kernel)(const polyte_session* session, int32_t index);
  /* As session_run; the nanoseconds of every step are added to step_ns, which has step_count
   * elements. */
  int (*session_run_timed)(const polyte_session* session, const polyte_dl_tensor* inputs,
                           int32_t input_count, const polyte_dl_tensor* outputs,
                           int32_t output_count, int64_t* step_ns, polyte_problem** problem);

  /* The sizes left open: how many (0: all shapes are fixed), and of each its name and range; 0, or
   * 2 when there is no such symbol. */
  int32_t (*symbol_count)(const polyte_session* session);
  int (*symbol_info)(const polyte_session* session, int32_t index, polyte_symbol_info* info);
  /* The shape of output `index` in a run on these inputs, into `shape`, which has the ndim of
   * its info. The inputs' data is not looked at and may be null; inputs that a run would refuse
   * are refused. */
  int (*output_shape)(const polyte_session* session, const polyte_dl_tensor* inputs,
                      int32_t input_count, int32_t index, int64_t* shape, polyte_problem** problem);

  /* Who scheduled the kernel of a step: the scheduler that was asked for it ("poly", "script"), the
   * one whose schedule it has ("naive" where that one declined), and why it declined: "" where it
   * did not, and of a copy. Null when there is no such step; valid as long as the session. */
  const char* (*step_scheduler_asked)(const polyte_session* session, int32_t index);
  const char* (*step_scheduler_used)(const polyte_session* session, int32_t index);
  const char* (*step_declined)(const polyte_session* session, int32_t index);

  /* As session_open, of an artifact that a key of the file `public_keys` must have signed
   * (polyte sign); 7 where none has. */
  int (*session_open_signed)(const char* path, const char* public_keys, int32_t threads,
                             polyte_session** session, polyte_problem** problem);

  /* As session_open, of an artifact for a GPU: on the device of this number, by the driver of this
   * library (null: libcuda.so.1). An artifact for a processor is opened as by session_open, with
   * all of its threads. */
  int (*session_open_on_device)(const char* path, int32_t device, const char* driver,
                                polyte_session** session, polyte_problem** problem);
  /* Where the steps run: POLYTE_DL_CPU, or POLYTE_DL_CUDA and which. */
  polyte_dl_device (*session_device)(const polyte_session* session);
  /* Of a GPU: puts a run on dense tensors in its memory (POLYTE_DL_CUDA) into the caller's stream
   * (a CUstream or cudaStream_t; null: the default stream) and returns. Tensors are used until the
   * stream has come so far. What such runs find later is what session_wait returns, which waits
   * for all of them. */
  int (*session_run_on_device)(const polyte_session* session, const polyte_dl_tensor* inputs,
                               int32_t input_count, const polyte_dl_tensor* outputs,
                               int32_t output_count, void* stream, polyte_problem** problem);
  int (*session_wait)(const polyte_session* session, polyte_problem** problem);
} polyte_runtime_api; /* fetched by polyte_runtime_get_api */

/* The table, or null when the library is older than `version`. */
const polyte_runtime_api* polyte_runtime_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif
