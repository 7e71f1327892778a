// A sum over the steps of a recurrence, cut into parts: the steps of its element's own panel, those
// of the panels before that in its block, and those of the blocks before. A block is of several
// panels, or is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/step_products.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"

namespace polyte::poly {

struct StepPart {
  std::string statement;
  std::string bound;  // the row or the lane: it is in the panel, or the block, of the step
  // Near steps: its lanes are those of a panel, or said panel by panel.
  bool has_panels_of_lanes = false;
};

struct StepParts {
  // Loops that the sum shares with others before they are cut.
  std::vector<schedule::PlannedDistribution> apart;
  std::vector<schedule::PlannedCut> cuts;
  std::vector<StepPart> near, mid;  // `mid` is empty where a block is one panel
  std::string far;

  std::vector<std::string> tiled() const;  // far, then mid
};

// In panels of so many steps, so many of them to a block. Of the loops of the steps and of what
// they stay below the inner one is cut, at the panel of the other:
//
//   S: A[i, j] -= A[i, k] * A[k, j] for k in 0..j     S.near: k//24 == j//24   S.far: k//24 < j//24
//
// Steps that stay below both the row and the lane are near in the panel's rows, and in its lanes of
// the other rows. `reference` is of the Program, and says what shares a loop.
StepParts parts_of_steps(const Product& product, const schedule::State& reference,
                         std::int64_t steps, std::int64_t panels);

}  // namespace polyte::poly
