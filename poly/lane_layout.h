// Arrays laid out for lanes of a loop that strides over them, in all of their elements alike: one
// copy in before the first statement, one back behind the last. It pays where sweeps over an array
// are many, as in a stencil in place, whose steps in time run side by side two rows apart:
//
//   A[i - 2*t, j - i], lanes along t:   stage A layout (i, j) [j, i%2, i//2]
//
// Layouts for vectors as in Henretty et al., Data Layout Transformation for Stencil Computations on
// Short-Vector SIMD Architectures (CC 2011); the dimension is found from the subscripts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/nest_plan.h"

namespace polyte::poly {

// Elements `step` apart along a dimension of the buffer come to lie side by side.
struct LaneLayout {
  std::size_t dimension = 0;
  std::int64_t step = 1;

  bool operator==(const LaneLayout&) const = default;
};
using LaneLayouts = std::map<std::string, LaneLayout>;  // by buffer; others stay as they are

std::vector<schedule::PlannedStage> stages_of(const ir::Program& program,
                                              const LaneLayouts& layouts);

// Of copying in and back what the caller has, in cycles of one core.
double cycles_of_copies(const ir::Program& program, const LaneLayouts& layouts);

}  // namespace polyte::poly
