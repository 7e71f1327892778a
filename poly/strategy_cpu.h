// From the affine core to the nests of a CPU: the list of decisions, each by a formula over the
// machine and the statement's accesses, each a part of the plan of a nest.
#pragma once

#include <optional>
#include <string>

#include "poly/affine_core.h"
#include "schedule/script/refused_script.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct StrategyOptions {
  bool affine_core_only = false;                            // isl's order with fixed tiles
  bool keep_order = false;                                  // of floating-point sums: no `reassoc`
  bool proves = true;                                       // as in PolyOptions
  std::vector<schedule::RefusedScript>* refused = nullptr;  // receives plans that were not proved
  int first_number = 0;                                     // of the nests that are planned
};

struct NestSchedule {
  std::vector<schedule::NestPlan> nests;
  // A contraction that isl fused would do better in a nest of its own.
  bool loses_tiles = false;
  bool shares_sums = false;  // in a nest that isl fused: what they cost apart may be less
  std::vector<std::string> notes = {};       // what could not be had: a tile in time
  std::vector<std::string> considered = {};  // orders and plans that were weighed
};

// None where a nest is not worth the map that it needs.
std::optional<NestSchedule> schedule_for_cpu(const ir::Program& program,
                                             const schedule::State& reference,
                                             const AffineCore& core, const Machine& machine,
                                             const StrategyOptions& options);

}  // namespace polyte::poly
