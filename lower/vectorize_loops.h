// vectorize_loops: a Vector loop becomes vector accesses of the machine's lanes, its pieces side by
// side inside whatever loops stand below it; what is left over at the end is masked (Lanes::active)
// or a narrower vector.
//
//   vector n.i in 0..min(32, N - 32*n.o)
//     acc[m, 32*n.o + n.i] = ...
//   ->
//   acc[m, 32*n.o;      16 by 0,1 if N - 32*n.o]      = ...
//   acc[m, 32*n.o + 16; 16 by 0,1 if N - 32*n.o - 16] = ...
//
// Iterations of a Vector loop are independent by contract (checked when the loop got its kind).
// Long or symbolic loops become a serial loop over whole vectors and a masked rest. A loop that has
// no vector form (a scatter, a branch that differs between lanes, a lane-private allocation)
// becomes Serial, and `notes` says why.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "support/machine.h"

namespace polyte::lower {

ir::LoopProgram vectorize_loops(const ir::LoopProgram& program, const Machine& machine,
                                std::vector<std::string>& notes);

}  // namespace polyte::lower
