// Programs with ordered regions, step by step: what a step does is a Program of its own
// (schedule/script/region_step.h), which is planned as one without regions is, with register tiles
// and chains of rows; the loops of the regions stay where they are. Where what a step does is worth
// more than an order of all instances (whole_program.h) this is the cheaper schedule.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schedule/script/script.h"
#include "schedule/state/nest_plan.h"
#include "support/machine.h"

namespace polyte::poly {

// Nests of a Program without regions, numbered from `first` on; none: it stays as it is.
using PlanPart = std::function<std::vector<schedule::NestPlan>(const ir::Program& part, int first)>;

// For `program`, planned in the simpler form `planned`. nullopt: no region has a nest. One step is
// no witness for all of them: the script is not proved.
std::optional<schedule::Script> script_by_steps(const ir::Program& program,
                                                const ir::Program& planned, const Machine& machine,
                                                const PlanPart& plan);

}  // namespace polyte::poly
