// What bench/*.py calls in its own process. Plain C: see bench/peers/machine.py.
#include "bench/peak.h"

// Single-precision operations a second of one thread; 0: no share of peak can be told on this machine.
extern "C" double polyte_measure_fma_peak() noexcept {
  try {
    return polyte::bench::measure_peak(polyte::detect_machine(), polyte::DType::F32);
  } catch (...) {
    return 0;
  }
}
