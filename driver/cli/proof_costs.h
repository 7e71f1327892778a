// What proofs cost: each directive of a script applied and proved by its own obligation, and
// the end-to-end proof of the whole, in milliseconds. Wall time of one thread, the best of
// a few rounds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"

namespace polyte::cli {

struct DirectiveCost {
  std::string text;
  double milliseconds = 0;
};

struct ProofCost {
  std::string program, scheduler;
  std::vector<DirectiveCost> directives;
  double final_milliseconds = 0;
  std::string declined = {};  // why there is no script, and so no proof
};

// InternalError where the scheduler's own script is refused.
ProofCost proof_cost(const std::shared_ptr<const ir::Program>& program, driver::Scheduler scheduler,
                     const Machine& machine, int rounds);

void print_proof_costs(const std::vector<ProofCost>& costs, bool json);

}  // namespace polyte::cli
