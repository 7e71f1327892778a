// exchange_lanes: registers of a block that a thread reads although another lane of its warp
// has written them (the proof lets none of another warp). They become registers of each thread,
// and what is read of another lane goes to a register of the reader first, by all lanes of
// the warp together:
//
//   alloc q: f32[32] in register                 alloc q: f32[1] in register of each thread
//     thread t in 0..32                            thread t in 0..32
//       q[t] = ..                                    q[0] = ..
//     thread u in 0..16                     ->     thread u in 0..32
//       r[u] = q[u] + q[u + 16]                      alloc q.l: f32[1] in register
//                                                      q.l[0] = lane_read(q[0], u + 16)
//                                                      if u <= 15   r[u] = q[0] + q.l[0]
//
// A lane that takes part reads nothing of what it gets unless it ran before, so a region is
// widened to whole warps and its own bounds, and every condition that lanes differ in, go behind
// the exchange. What is not changed in a loop is exchanged before it. No barrier: the instruction
// itself waits for the lanes, and each brings its register as it is at this place of its code.
// Nobody else writes it in the region, as threads of one loop share nothing.
//
// Where lanes name different registers, or which lane has an element is not known, the buffer goes
// to shared memory, which is noted.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram exchange_lanes(const ir::LoopProgram& program, std::vector<std::string>& notes);

}  // namespace polyte::lower
