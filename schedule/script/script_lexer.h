// Tokens and logical lines of script text. A logical line is one directive: without comments,
// its `#:` provenance apart, lines joined while a bracket of any kind is open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/script/script.h"

namespace polyte::schedule {

struct Token {
  enum class Kind { Name, Number, Symbol, End };
  Kind kind = Kind::End;
  std::string text;                // names with their dots: n.o, acc.update
  std::size_t begin = 0, end = 0;  // in the line's text
};
std::vector<Token> tokenize(const std::string& text);  // ends with one End token

struct LogicalLine {
  std::string text;  // empty: of a mark `#:` without a directive, which is the problem
  int line = 0;      // of its first character
  int indent = 0;    // blanks before it
  Provenance provenance = Provenance::Person;
  std::string problem;  // of the mark; empty: none
};
std::vector<LogicalLine> logical_lines(std::string_view text);

}  // namespace polyte::schedule
