// Integer expressions of the script's language: numbers, names, + - * / // % (division rounds
// down), parentheses, min(a, b), max(a, b), comparisons and `and`, `or` (0 or 1).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/result.h"

namespace polyte::schedule {

// The value, or why there is none: a name that is not known (with those that are), division
// by zero, bad syntax.
Result<std::int64_t> evaluate_size(const std::string& text,
                                   const std::map<std::string, std::int64_t>& values);

// Of a condition that does not hold: the values of its names, and of the two sides of the
// comparison that fails: "38 <= 30 where Mr = 18, registers = 32".
std::string why_false(const std::string& text, const std::map<std::string, std::int64_t>& values);

}  // namespace polyte::schedule
