// carry_values: what the next iteration of a serial loop reads stays in a register (scalar
// replacement: Callahan, Carr, Kennedy, *Improving register allocation for subscripted variables*).
//
//                                                alloc y.v: f32[1] in register
//                                                  y.v[0] = y[r, 0]
//   for t in 1..64                       ->        for t in 1..64
//     y[r, t] = (y[r, t - 1] + x[r, t])              y.v[0] = (y.v[0] + x[r, t])
//                                                    y[r, t] = y.v[0]
//
// Of innermost loops whose body is stores alone. Subscripts that differ by constants decide:
// another store to the buffer that could reach the element leaves it in memory. A load later in the
// iteration takes the value, too. The element is still stored each time, but for a sum into one
// element that nothing else of the loop may read: that is stored once, behind it.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

inline constexpr int kMaxCarriedValues = 8;  // a loop; more would only spill

ir::LoopProgram carry_values(const ir::LoopProgram& program);

}  // namespace polyte::lower
