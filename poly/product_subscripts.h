// What subscripts and domain say of a product that is subtracted from, or added to, an element of a
// recurrence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/program.h"

namespace polyte::poly {

// The least of a - b where the domain says that it is never negative; nullopt: it says
// nothing of the sort.
std::optional<std::int64_t> least_above(const ir::Statement& statement, const std::string& a,
                                        const std::string& b);

// The operand is the same for all lanes, or has them as neighbours.
bool lies_along(const ir::Load& load, const std::string& lane);

}  // namespace polyte::poly
