// What a core does in a cycle and what it waits for, as both prices take it: that of orders
// (order_price.h) and that of finished schedules (state_price.h). Rough figures of processors of
// 2020 to 2025; what machines differ in is in Machine.
#pragma once

#include "ir/program.h"
#include "support/machine.h"

namespace polyte::poly {

inline constexpr double kLine = 64;      // bytes
inline constexpr double kUsable = 0.75;  // of a cache, by what one nest keeps in it
inline constexpr double kLoadsACycle = 2, kStoresACycle = 1;
// Bytes per cycle that a level hands over.
inline constexpr double kLevel2 = 48, kLevel3 = 20, kMemory = 8;
inline constexpr double kLoopStart = 12;            // cycles of entering an innermost loop
inline constexpr double kGather = 2, kScatter = 2;  // slots per lane whose neighbours are elsewhere
inline constexpr double kOperation = 4;  // cycles of latency of an addition or a multiplication
inline constexpr double kForward = 8;    // from a store to the load of what it stored
inline constexpr double kOpenSize = 64;  // taken for a size that is open: as large as any

// Of the arithmetic of one instance, an update's own combination with it; a negation costs nothing.
struct Operations {
  double slots = 0;    // of issue
  double divider = 0;  // cycles of the unit that divides and takes roots, beside the others
  // Cycles from an operand to the result, one operation after the other; of updates: of that one.
  double latency = 0;

  // Of an instance, or of a vector of them. Scalars are two per cycle also where long vectors
  // are not.
  double cycles(bool is_vector, const Machine& machine) const;
};
Operations operations_of(const ir::Statement& statement);

}  // namespace polyte::poly
