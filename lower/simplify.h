// simplify: what the ranges of the loops decide is decided. Bounds, subscripts and guards get
// shorter; loops of no trip and branches never taken vanish, loops of one trip become their body;
// selections and guarded reads on known conditions choose. Numbers are never computed differently:
// no float operation is folded.
//
//   for k.o in 0..1                        x[k.i, n.o]
//     if k.i + 384*k.o < 1024       ->
//       x[k.i + 384*k.o, (32*n.o + n.i)//32]
#pragma once

#include "ir/facts.h"
#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram simplify(const ir::LoopProgram& program);

// A statement below what `facts` says; null where nothing is left.
ir::Stmt simplify(const ir::Stmt& s, ir::Facts& facts);

// The facts that a program starts from: parameters and extents are not negative.
ir::Facts facts_of(const ir::LoopProgram& program);

}  // namespace polyte::lower
