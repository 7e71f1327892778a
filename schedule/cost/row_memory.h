// The memory of a chain of rows: which temporaries lie in that of its results, which operands
// are brought ahead.
#pragma once

#include <map>
#include <string>

#include "schedule/cost/row_chain.h"

namespace polyte::schedule {

// `own` alone writes a temporary, each element once, and nothing outside the chain reads it.
bool is_defined_and_read_by(const RowQuestion& question, const ir::Statement& own);

// Temporary -> result: one shape and type, and its last reader writes the result at the element
// that it reads. Then the lines of the result come while the row is computed, and not when all of
// it waits to be written. Nothing where the kernel exceeds the last cache so far that results are
// better stored past it (streaming.h).
std::map<std::string, std::string> rows_in_place(const RowQuestion& question);

// The next rows of an operand come while the last pass that reads these rows runs over them.
struct RowAhead {
  std::string operand, statement;
  const RowPass* pass = nullptr;
  int level = 1;  // of the cache that holds the block's rows, the next ones and the result's
};
// Nothing where all that the kernel touches stays in the second cache.
std::vector<RowAhead> rows_ahead(const RowQuestion& question, const RowChain& chain);

}  // namespace polyte::schedule
