// Two texts of loops or scripts, line by line: what both have, and what only one has.
#pragma once

#include <string>
#include <vector>

namespace polyte::lab {

enum class Side { Both, First, Second };
struct DiffLine {
  Side side;
  std::string text;
};
// A longest common subsequence of lines; where a text has more than 2,000 lines, the lines are
// taken one by one.
std::vector<DiffLine> diff_lines(const std::string& first, const std::string& second);

// The parts of a nest, each up to `>`, a brace, `;` or the end of a line: a difference is a
// list of such parts.
std::vector<std::string> nest_parts(const std::string& nest);
// Of each part of `own`, whether `other` has it in the same order.
std::vector<bool> common_parts(const std::vector<std::string>& own,
                               const std::vector<std::string>& other);

}  // namespace polyte::lab
