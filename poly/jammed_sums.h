// Unroll-and-jam: where a loop adds a row to the cells of an inner loop each time, several of its
// iterations come together, so that a cell is loaded and stored once for all of them (Callahan,
// Carr, Kennedy, *Improving register allocation for subscripted variables*).
//
//   i > { j > q; <j> > s }        s[j] += r[i] * A[i, j]
//   i.o > { i.i > j > q; j.o > [i.i] > <j.i> > s }
//
// Where the loop does nothing but go along its rows, it is passes over several of them at a time,
// as few as can be: an element is loaded once for all of its readers in a pass, and a sum along a
// row has a vector of parts in a register for each of the rows, which are read side by side.
//
//   i.o > { [i.i] > <j.i> > q_v.init                           q[i] = sum[j] A[i, j] * p[j]
//         ; j.o > [i.i] > { <j.i> > q_v.update; <j.i> > s }    s[j] += A[i, j] * r[i]
//         ; [i.i] > [j.i] > q }
//
//   i.o > { [i.i] > <j.i> > q_v.init
//         ; j.o > [i.i] > <j.i> > q_v.update; [i.i] > [j.i] > q
//         ; j.o > [i.i] > <j.i> > s }                          s[j] += A[i, j] * q[i]
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poly/order_plan.h"
#include "support/machine.h"

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
// The same in passes where that can be, `sums` being those that may be in parts; nullopt where it
// can be nowhere.
std::optional<JammedSums> with_passes(const ir::Program& program, const schedule::State& reference,
                                      const schedule::NestPlan& nest,
                                      const std::map<std::string, OrderPlan::Inner>& sums,
                                      const Machine& machine);

}  // namespace polyte::poly
