// Unroll-and-jam: where a loop adds a row to the cells of an inner loop each time, several of its
// iterations come together, so that a cell is loaded and stored once for all of them (Callahan,
// Carr, Kennedy, *Improving register allocation for subscripted variables*).
//
//   i > { j > q; <j> > s }        s[j] += r[i] * A[i, j]
//   i.o > { i.i > j > q; j.o > [i.i] > <j.i> > s }
#pragma once

#include <map>
#include <optional>
#include <string>

#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"

namespace polyte::poly {

struct JammedSums {
  schedule::NestPlan nest;
  // By statement: the loop around it that runs in steps of several.
  std::map<std::string, std::string> loop_of;
};

// nullopt where the nest has none. Vectors are in the tree already; nothing is proved.
std::optional<JammedSums> with_jammed_sums(const ir::Program& program,
                                           const schedule::State& reference,
                                           const schedule::NestPlan& nest);

}  // namespace polyte::poly
