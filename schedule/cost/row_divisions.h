// Which statements of a chain of rows may multiply by a reciprocal instead of dividing.
#pragma once

#include <string>

#include "ir/program.h"

namespace polyte::schedule {

// True where the statement divides by what stays the same along `lane`, and each such divisor is
// a square root or a sum of exponentials beside their maximum: its reciprocal is a normal number
// wherever the quotient is a number, and the error is that of one more rounding. Other divisors may
// be so small that 1 / b overflows: a person's `reciprocal`.
bool may_take_reciprocals(const ir::Program& program, const ir::Statement& statement,
                          const std::string& lane);

}  // namespace polyte::schedule
