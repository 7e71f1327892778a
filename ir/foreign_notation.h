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

// Empty where the line has nothing of another language. Only what no correct line has is looked
// for, so that the advice is right whatever the fault.
std::string foreign_hint(const std::vector<Token>& line);

// Adds the hints of the lines to the first fault of each; a line's own advice is kept.
void add_foreign_hints(const std::vector<Line>& lines, std::vector<Fault>& faults);

// The same of a character that no token has, UTF-8: "?", "Σ".
std::string foreign_character_hint(std::string_view character);

}  // namespace polyte::ir::text
