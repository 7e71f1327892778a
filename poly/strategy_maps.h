// Nests whose loops isl skews, shifts or reverses: a `map`, and the innermost loop in vectors
// where that is proved.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "support/machine.h"

namespace polyte::poly {

// Of one mapped nest, which replays after the nests `before` it. nullopt where the nest is not
// worth its map: statements whose lanes are not innermost, or that several cores could share; or
// where the map itself is refused.
std::optional<schedule::NestPlan> plan_mapped_nest(const ir::Program& program, const Core& nest,
                                                   const Machine& machine, bool affine_core_only,
                                                   std::span<const schedule::NestPlan> before);

}  // namespace polyte::poly
