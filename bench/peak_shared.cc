// What bench/*.py calls in its own process. Plain C: see bench/peers/machine.py.
#include "bench/peak.h"

#include <thread>
#include <vector>

// Single-precision operations per second of one thread; 0: the share of peak is not known on
// this machine.
extern "C" double polyte_measure_fma_peak() noexcept {
  try {
    return polyte::bench::measure_peak(polyte::detect_machine(), polyte::DType::F32);
  } catch (...) {
    return 0;
  }
}

// A fixed number of multiply-adds in registers, some milliseconds of one thread, shared by that
// many: how much faster it ends says how many cores there are behind the threads at this moment.
extern "C" void polyte_measure_fma_work(int threads) noexcept {
  constexpr int kRounds = 16;
  try {
    std::vector<std::jthread> others;
    const auto part = [&](int first) {
      for (int round = first; round < kRounds; round += threads) polyte_measure_fma_peak();
    };
    for (int i = 1; i < threads; ++i) others.emplace_back(part, i);
    part(0);
  } catch (...) {
    return;  // a thread could not start: the time says so
  }
}
