// A library with the entry points of the CUDA driver that the runtime calls
// (runtime/cuda_driver.h), for machines without a GPU. It has two devices: the first runs kernels
// through Polyte's emulator, of compute capability 0.0, which no GPU has; the second says of itself
// what an H100 says and takes no code. It is stricter than a driver has to be:
//
//   - what is put into a stream happens when somebody waits for it, and not before; other streams
//     then take turns with it
//   - memory of the device cannot be touched from the processor's code, and is aligned to 256 bytes
//     and no more
//   - memory that nobody wrote is not to be read; whatever else the emulator finds is
//     CUDA_ERROR_LAUNCH_FAILED
//   - after a failed launch every call fails
//
// Code for the first device, "sm_0", is a shared object of emulated kernels (codegen:
// CodegenOptions::emulated). A test controls it by these functions of the same library:
#pragma once

#include <stdint.h>

extern "C" {

// As before the first call; what was allocated stays.
void polyte_stand_in_reset();
// The nth call of this entry point from now on, 1 the next, does nothing and returns `result`, or,
// where that is negative, says that all went well. "kernel": the nth kernel that runs.
void polyte_stand_in_fail(const char* name, int64_t nth, int result);
// How often an entry point was called since the last reset; "kernel": how many kernels have run.
int64_t polyte_stand_in_calls(const char* name);
// How much memory the devices have; what is taken now.
void polyte_stand_in_limit(int64_t bytes);
int64_t polyte_stand_in_allocated();
// What the emulator found in the last kernel that failed; "" where none has.
const char* polyte_stand_in_fault();
}
