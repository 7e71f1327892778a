// place_barriers: threads of a block meet where one of them touches what another one wrote, or
// writes what another one touched. The tree says that regions (loops of threads, and what one
// thread runs between them) follow each other; a barrier makes it true, and only where two threads
// could tell the difference.
//
//   for k { thread e { x.p = x };  thread t { acc += x.p * .. } }
//     ->
//   for k { thread e { x.p = x };  barrier from x.p to acc on x.p;
//           thread t { .. };       barrier from acc to x.p on x.p }
//
// A conflict is a pair of accesses to one place by two threads, one of them a write, with no
// loop of blocks between them; integer sets decide whether there is one, within an iteration
// of the loops around both or from one iteration to a later one. It must have a barrier on
// its way. Of all sets of places that part every conflict, one of least cost is taken, where
// a place costs as much as it is deep in loops. Within a warp a barrier of the warp is enough.
// What an instruction of a warpgroup reads, it reads past the threads: whoever wrote it has to
// fence it before such a barrier. Copies to shared memory become asynchronous, with a wait at
// the barriers (async_copies.h).
#pragma once

#include "ir/loop_program.h"
#include "support/machine.h"

namespace polyte::lower {

ir::LoopProgram place_barriers(const ir::LoopProgram& program, const Machine& machine);

}  // namespace polyte::lower
