// The loop side's answer to fusion: a group whose schedule needs more scratch memory, or computes
// more than once what it need not, than the limits allow, or for which there is no schedule at all,
// is handed back. It is split along its cheapest edge, the one whose value has the fewest bytes,
// as from then on that value goes through memory. A group that graph/propose_joins.h proposed stays
// where its schedule is one pass, else its parts are groups again.
//
//   for (;;) {
//     partition; schedule;
//     apart = groups_to_split(model, limits);
//     if (apart.empty()) break;
//     ...
//   }
#pragma once

#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "graph/fuse.h"

namespace polyte::driver {

struct ScheduledModel;
struct ModelOptions;

struct FusionLimits {
  // Bytes of a kernel's scratch memory, with one worker.
  std::int64_t temporaries = std::int64_t{64} << 20;
  double recompute = 2;  // times the floating-point operations of the reference
};

// What a kernel costs beyond the reference order of its Program.
std::int64_t scratch_bytes(const BuiltKernel& kernel);
// 1 where it computes everything once, or cannot be counted.
double recompute_factor(const BuiltKernel& kernel);

// One entry per group that must be split, its two nodes the ends of the edge. A group stays where a
// person has written its schedule, or asked for it: then `kept` gets a line.
std::vector<graph::KeepApart> groups_to_split(const ScheduledModel& model,
                                              const ModelOptions& options,
                                              std::vector<std::string>& kept);

}  // namespace polyte::driver
