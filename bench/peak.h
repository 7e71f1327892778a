// The machine's FMA peak, measured in this process next to what is compared with it: the
// clock of a virtual machine drifts, so a share of peak is honest only when both were timed
// in the same seconds.
#pragma once

#include "support/dtype.h"
#include "support/machine.h"

namespace polyte::bench {

// Floating-point operations a second of independent FMAs in registers on the widest vectors of
// this machine; one thread, about 10 ms. F32 and F64 on processors with FMA; else 0: the share of
// peak is not known.
double measure_peak(const Machine& machine, DType type);

}  // namespace polyte::bench
