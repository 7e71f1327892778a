// Which temporaries of a chain of rows lie in the memory of its results.
#pragma once

#include <map>
#include <string>

#include "schedule/row_chain.h"

namespace polyte::schedule {

// Temporary -> result: one shape and type, and its last reader writes the result at the element that it reads. Then
// the lines of the result come while the row is computed, and not when all of it waits to be written. Nothing where the
// kernel exceeds the last cache so far that results are better stored past it (streaming.h).
std::map<std::string, std::string> rows_in_place(const RowQuestion& question);

}  // namespace polyte::schedule
