// Which kernels are worth more than one thread. The time that a kernel takes at least, by its
// operations at the peak of one core and by the bytes of its buffers, against what it costs to hand
// work to another thread and to wait for it. Decided when a model is compiled and written into its
// artifact: a run does not depend on a clock.
#pragma once

#include "ir/program.h"
#include "support/machine.h"

namespace polyte::driver {

bool is_worth_threads(const ir::Program& program, const Machine& machine);
// Of a Program with parameters: the least scale (runtime/open_number.h) at which it is, by what it
// costs at typical sizes.
std::int64_t least_scale_for_threads(const ir::Program& program, const ir::Values& typical,
                                     const Machine& machine);

}  // namespace polyte::driver
