// Directives of what a scheduler has planned: the one place where decisions become a Script. Both
// schedulers end here, so that a plan is never put together as text and read back.
#pragma once

#include "schedule/script/script.h"
#include "schedule/state/nest_plan.h"
#include "support/machine.h"

namespace polyte::schedule {

// Appends the directives of a nest, each with the provenance of its part.
void write_nest(const NestPlan& plan, std::vector<Directive>& into);

// The script of a kernel. `writer`: the scheduler as the header names it, "template", "poly" or
// "isl".
Script write_script(const ir::Program& program, const std::string& writer, const Machine& machine,
                    const KernelPlan& plan);

}  // namespace polyte::schedule
