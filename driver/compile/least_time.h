// The least time that a GPU's rates leave to a Program's work, whatever its schedule (S. Williams,
// A. Waterman, D. Patterson, "Roofline", 2009).
//
//   least_time(rates_for(&program, machine), flops, bytes)     // {9.5e-5, "multiply-adds"}
#pragma once

#include "ir/program.h"
#include "support/machine.h"

namespace polyte::driver {

// Per second; 0: not known. Multiply-adds of single precision, and those of tensor cores where
// operands have 16 bits: what other types take is not known.
struct GpuRates {
  double flops = 0, bytes = 0;
};
// Null: of a network of single precision. Of a processor none is known.
GpuRates rates_for(const ir::Program* program, const Machine& machine);

struct LeastTime {
  double seconds = 0;            // 0: not known
  const char* bound = "memory";  // what takes so long
};
LeastTime least_time(const GpuRates& rates, double flops, double bytes);

}  // namespace polyte::driver
