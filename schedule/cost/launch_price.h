// How long a GPU's launch takes by the machine's rates, told from what it does (ir::work_of): the
// same estimate for every schedule, whoever wrote it. After D. Unat et al., "ExaSAT" (2015) and S.
// Williams et al., "Roofline" (2009): each unit takes its share of the work in its own time, the
// longest of them decides, and what is not hidden behind it counts in part. It knows no latency but
// a launch's and memory's, no bank of registers, no schedule of instructions.
//
//   LaunchPrice p = price_of({work, threads, shared_bytes, registers, bytes}, *machine.gpu);
//   // {41e-6, "multiply-adds"}
#pragma once

#include <cstdint>

#include "ir/warp_memory.h"
#include "support/machine.h"

namespace polyte::schedule {

struct PricedLaunch {
  ir::LaunchWork work;
  std::int64_t threads = 1;       // of a block
  std::int64_t shared_bytes = 0;  // of a block
  // Of a thread; 0: not known, and then no reason for fewer blocks at a time.
  std::int64_t registers = 0;
  // Of the buffers in memory that it touches: each comes or goes once at least.
  double bytes = 0;
};

struct LaunchPrice {
  double seconds = 0;            // of all launches, one after the other
  const char* bound = "launch";  // what takes longest
};

LaunchPrice price_of(const PricedLaunch& launch, const Gpu& gpu);

}  // namespace polyte::schedule
