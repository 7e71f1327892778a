// Unroll-and-jam: where a loop adds a row to the cells of an inner loop each time, several of its
// iterations come together, so that a cell is loaded and stored once for all of them (Callahan,
// Carr, Kennedy, *Improving register allocation for subscripted variables*).
//
//   i > { j > q; <j> > s }        s[j] += r[i] * A[i, j]
//   i.o > { i.i > j > q; j.o > [i.i] > <j.i> > s }
//
// Where all that the loop does runs over the same rows, it is one pass over them: an element is
// loaded once for all of its readers, and a sum along a row has a vector of parts in a register for
// each of the rows.
//
//   i.o > { [i.i] > <j.i> > q_v.init
//         ; j.o > [i.i] > { <j.i> > q_v.update; <j.i> > s }
//         ; [i.i] > [j.i] > q }
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poly/order_plan.h"

namespace polyte::poly {

struct JammedSums {
  schedule::NestPlan nest;
  // By statement: the loop around it that runs in steps of several.
  std::map<std::string, std::string> loop_of;
  // Statements whose sums are in parts here.
  std::vector<std::string> in_parts;
};

// nullopt where the nest has none. Vectors are in the tree already; nothing is proved.
std::optional<JammedSums> with_jammed_sums(const ir::Program& program,
                                           const schedule::State& reference,
                                           const schedule::NestPlan& nest);
// The same with one pass where that can be, `sums` being those that may be in parts; nullopt where
// it can be nowhere.
std::optional<JammedSums> with_one_pass(const ir::Program& program,
                                        const schedule::State& reference,
                                        const schedule::NestPlan& nest,
                                        const std::map<std::string, OrderPlan::Inner>& sums);

}  // namespace polyte::poly
