// From the affine core to a script for a CPU: the list of decisions, each by a formula over the machine and the
// statement's accesses, each ending in directives.
#pragma once

#include <optional>
#include <string>

#include "poly/affine_core.h"
#include "schedule/language/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct StrategyOptions {
  bool affine_core_only = false;  // isl's order with fixed tiles
};

// Script lines (without the header); none where a nest is not worth the map that it needs.
std::optional<std::string> schedule_for_cpu(const ir::Program& program, const schedule::State& reference,
                                            const AffineCore& core, const Machine& machine,
                                            const StrategyOptions& options);

}  // namespace polyte::poly
