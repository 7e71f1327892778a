// Which results are stored past the caches: those that are defined once, never read again here, and together with what
// is read exceed by far the last cache that a core can count on. Then no line is fetched before it is overwritten.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "support/machine.h"

namespace polyte::schedule {

// The `stream` directives, a line each. Sizes of the Program must be numbers.
std::vector<std::string> stream_lines(const ir::Program& program, const Machine& machine);

}  // namespace polyte::schedule
