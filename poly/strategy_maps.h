// Nests whose loops isl skews, shifts or reverses: a `map`, tiles of the band where it is permutable, and the innermost
// loop in vectors where that is proved.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "support/machine.h"

namespace polyte::poly {

struct MappedPlan {
  schedule::NestPlan nest;         // which changes nothing where isl's order is the Program's
  std::vector<std::string> notes;  // what could not be had
};

// Of one mapped nest, which replays after the nests `before` it. nullopt where the nest is not worth its map:
// statements outside an ordered region whose lanes are not innermost, or that several cores could share; or where the
// map itself is refused.
std::optional<MappedPlan> plan_mapped_nest(const ir::Program& program, const Core& nest, const Machine& machine,
                                           bool affine_core_only, std::span<const schedule::NestPlan> before);

}  // namespace polyte::poly
