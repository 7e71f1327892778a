// Which results are stored past the caches: those that are defined once, never read again here, and together with what
// is read exceed by far the last cache that a core can count on. Then no line is fetched before it is overwritten.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/nest_plan.h"
#include "support/machine.h"

namespace polyte::schedule {

// In the order of the interface. None in whose memory the nests keep a temporary. Sizes of the Program must be numbers.
std::vector<std::string> streamed_results(const ir::Program& program, const Machine& machine,
                                          std::span<const NestPlan> nests);
double bytes_of_interface(const ir::Program& program);

}  // namespace polyte::schedule
