// How many rows of a chain run at a time, how many of them side by side and in how many vectors: by
// what combining the lanes costs, what waits in which cache meanwhile, and how many additions and
// streams run at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schedule/cost/row_chain.h"

namespace polyte::schedule {

// Iterations, by statement and iterator.
using RowExtents = std::map<std::string, std::map<std::string, std::int64_t>>;

// Of a chain with its rows and passes. `first_sum`: one of the question's statements.
void choose_row_sizes(const RowQuestion& question, const ir::Statement& first_sum,
                      const RowExtents& extents, RowChain& chain);

// Whether lanes along the rows are better than rows as lanes, which keep the order of the sums and
// need no combining but read across memory.
bool rows_pay(const RowQuestion& question, const ir::Statement& first_sum,
              const RowExtents& extents, const RowChain& chain);

}  // namespace polyte::schedule
