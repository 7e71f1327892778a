/* The tensor struct of the DLPack protocol (version 1), for the C API and for bindings:
 * layout-compatible with DLTensor of dlpack.h, so that a pointer to either may be cast to the
 * other. Plain C. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum polyte_dl_device_type { POLYTE_DL_CPU = 1, POLYTE_DL_CUDA = 2 };
enum polyte_dl_type_code {
  POLYTE_DL_INT = 0,
  POLYTE_DL_UINT = 1,
  POLYTE_DL_FLOAT = 2,
  POLYTE_DL_BFLOAT = 4,
  POLYTE_DL_BOOL = 6
};

typedef struct polyte_dl_device {
  int32_t device_type;
  int32_t device_id;
} polyte_dl_device;

typedef struct polyte_dl_type {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} polyte_dl_type;

typedef struct polyte_dl_tensor {
  void* data;
  polyte_dl_device device;
  int32_t ndim;
  polyte_dl_type dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; null means dense row-major */
  uint64_t byte_offset;
} polyte_dl_tensor;

#ifdef __cplusplus
}
#endif
