// What the analytic model says of a kernel before it is run: operations that its loops do, bytes
// that come from beyond each cache, cycles (poly/state_price.h), and time at the clock that the FMA
// peak of this process tells. Recorded beside what is measured, never in its place.
//
//   {"model": "state price", "flops": 524288,
//    "bytes": {"beyond_l1": .., "beyond_l2": .., "beyond_l3": ..},
//    "cycles": 21000, "bound": "issue", "clock_ghz": 3.4, "nanoseconds": 6176}
#pragma once

#include <nlohmann/json.hpp>

#include "driver/compile/operator.h"

namespace polyte::lab {

// Floating-point operations of the loops as they stand, an fma as two: recomputation, padding and
// whole vectors at ends included. Of bounds that move with loops outside, at the middle of these.
double flops_of_loops(const ir::LoopProgram& program);

// `machine.cores`: the threads that run it. Without "clock_ghz" and "nanoseconds" where no
// peak can be measured.
nlohmann::ordered_json predict(const driver::BuiltKernel& kernel, const Machine& machine);

// Bytes while it runs: {"interface": .., "scratch": .., "stack": ..}, scratch for so many threads.
nlohmann::ordered_json memory_of(const driver::CompiledOperator& op, int threads);

}  // namespace polyte::lab
