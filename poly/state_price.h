// What a whole schedule costs, in cycles, whoever wrote it: for each statement the greatest of
// issue slots, the chain of its updates, and the lines that each level of the memory hands over, by
// its loops as they stand: lanes, unrolled tiles whose operands stay in registers, threads, copies.
// Beside these it waits where an innermost loop goes from page to page.
// To compare schedules of one Program by, not to tell time. (order_price.h prices orders before
// there is a schedule.)
#pragma once

#include <string>
#include <vector>

#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

double cycles_of(const schedule::State& state, const Machine& machine);

// The same with its parts, of all statements and all threads together: cycles of issue and of
// waiting for a chain, and bytes that come from beyond each level of the caches. `cycles` is until
// the last thread has ended.
struct StatePrice {
  double cycles = 0, issue = 0;
  double beyond_l1 = 0, beyond_l2 = 0, beyond_l3 = 0;  // bytes
  // What takes longest: "issue", "second cache", "third cache" or "memory".
  const char* bound() const;
};
StatePrice price_of(const schedule::State& state, const Machine& machine);

// Its statements' own, in the order of the nests; cycles of one that has threads are shared by
// them.
struct StatementCost {
  std::string statement;
  StatePrice price;
};
std::vector<StatementCost> prices_of(const schedule::State& state, const Machine& machine);

}  // namespace polyte::poly
