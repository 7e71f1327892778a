// Quasi-affine expressions in a script: `2*t + i`, `(t + i) // 4`, `Mr*i.o - j % 2`. Names are
// symbols (iterators or loops) first, then sizes (params, lets), whose values are put in. `/` is
// for sizes that it divides: N/2.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/affine.h"
#include "support/result.h"

namespace polyte::schedule {

// Why not: a name that is neither, a product of two symbols, a division by what is not a positive
// number, one by `/` that may leave a remainder, bad syntax. `what` says what the symbols are:
// "iterators", "loops".
Result<ir::Affine> parse_affine(const std::string& text, const std::vector<std::string>& symbols,
                                const std::string& what,
                                const std::map<std::string, std::int64_t>& values);

}  // namespace polyte::schedule
