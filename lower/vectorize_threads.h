// vectorize_threads: vectorize_loops for a GPU, where a vector is one access of a thread, of 16
// bytes at most. Nothing is masked, that would be a branch per lane: where a vector might be cut
// short the loop has two forms, whole vectors and elements one by one.
//
//   vector n.i in 0..min(4, N - 4*t)              if 4 <= N - 4*t
//     y[4*t + n.i] = x[4*t + n.i]           ->      y[4*t; 4 by 1] = x[4*t; 4 by 1]
//                                                 if N - 4*t <= 3
//                                                   unrolled n.i in 0..min(4, N - 4*t)
//                                                     y[4*t + n.i] = x[4*t + n.i]
//
// Known extents end with shorter vectors: 7 are 4, 2 and 1. Long or open ones become a serial loop
// over whole vectors and one over what is left. A loop that has no vector form is unrolled where
// its extent is small and known, else serial, and `notes` says why.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "support/machine.h"

namespace polyte::lower {

ir::LoopProgram vectorize_threads(const ir::LoopProgram& program, const Machine& machine,
                                  std::vector<std::string>& notes);

}  // namespace polyte::lower
