// How much work a Program is: floating-point operations of its reference execution, for shares of peak.
#pragma once

#include "ir/program.h"

namespace polyte::driver {

// Arithmetic operations of every instance (an fma counts two); 0 where a domain has too
// many parts to count. Sizes must be bound.
double count_flops(const ir::Program& program);
double count_instances(const ir::Statement& statement);  // exact; 0 where that takes too long

}  // namespace polyte::driver
