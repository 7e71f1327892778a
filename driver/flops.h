// How much work a Program is: floating-point operations of its reference execution, for shares of peak.
#pragma once

#include "ir/program.h"

namespace polyte::driver {

// Arithmetic operations of every instance (an fma counts two); domains counted exactly where they are boxes,
// by their bounding box else. Sizes must be bound.
double count_flops(const ir::Program& program);
// Instances of one statement, counted the same way.
double count_instances(const ir::Program& program, const ir::Statement& statement);

}  // namespace polyte::driver
