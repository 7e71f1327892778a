// How much work a Program is: floating-point operations of its reference execution, for shares
// of peak.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace polyte::driver {

// Arithmetic operations of every instance, an fma as two, a change of sign as none (an addition
// that subtracts has it); 0, not known, where a domain takes too long to count. `sizes` has the
// values of parameters that are not bound.
double count_flops(const ir::Program& program);
double count_flops(const std::vector<ir::Statement>& statements, const ir::Values& sizes);

// Instances of all statements; nothing where a domain takes more than so many steps to count.
std::optional<double> count_instances(const std::vector<ir::Statement>& statements,
                                      const ir::Values& sizes, std::int64_t most_steps);

}  // namespace polyte::driver
