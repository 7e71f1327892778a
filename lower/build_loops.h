// build_loops: the tree of a State as loops, in Nest form. Bounds come from the statements: each
// domain, written over the loops by the statement's inverse, is projected onto the loops above
// (elimination.h); a shared loop runs over the union of its leaves' values. What the loops do not
// imply becomes a guard, as far out as its variables allow.
//
//   acc.init when first k.o; acc.update     for k.o in 0..3
//   with m split by 14                 ->     for m.o in 0..74
//                                               if k.o == 0
//                                                 for m.i in 0..min(14, 1021 - 14*m.o)
//                                                   acc[...] = 0
//                                               for k.i ...
//
// Temporaries and staged buffers become allocations, inside the loop that scopes them; a temporary
// whose extents stay open is a buffer of the interface, behind all others. Legality is the State's.
#pragma once

#include "ir/loop_program.h"
#include "schedule/state/state.h"

namespace polyte::lower {

enum class Part { Kernel, Packing };  // Packing: only the copies that run at compile time

// UserError(Unsupported) where a loop has no bounds that these rules find.
ir::LoopProgram build_loops(const schedule::State& state, Part part = Part::Kernel);

}  // namespace polyte::lower
