// What a line at fault is in another language, and how that is written in Program text: the end of
// a message.
//
//   C[m][n] = ..             "subscripts are separated by commas: C[m, n]"
//   y[i] = sum(k) x[i, k]    "a sum over k is written sum[k] ..."
#pragma once

#include <string>
#include <vector>

#include "ir/lexer.h"

namespace polyte::ir::text {

// Adds the hints of the lines to the first fault of each; a line's own advice is kept.
void add_foreign_hints(const std::vector<Line>& lines, std::vector<Fault>& faults);

// "; relu is max(x, 0)", of a function of other libraries; else empty.
std::string foreign_function_hint(const std::string& name);

// The same of a character that no token has, UTF-8: "?", "Σ".
std::string foreign_character_hint(std::string_view character);

}  // namespace polyte::ir::text
