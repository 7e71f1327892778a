#include "driver/lab/nest_diff.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace polyte::lab {
namespace {

// 4,000,000 cells of two bytes: 8 MB.
constexpr std::size_t kMostCells = 2'000;

using Items = std::vector<std::string>;

Items lines_of(const std::string& text) {
  Items lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The classic table of the longest common subsequence: length[i][j] of what a[i..] and b[j..] have
// in common. It has a cell for every pair, which kMostCells bounds.
std::vector<std::vector<std::uint16_t>> common_lengths(const Items& a, const Items& b) {
  std::vector<std::vector<std::uint16_t>> length(a.size() + 1,
                                                 std::vector<std::uint16_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      length[i][j] = a[i] == b[j] ? static_cast<std::uint16_t>(length[i + 1][j + 1] + 1)
                                  : std::max(length[i + 1][j], length[i][j + 1]);
  return length;
}

std::vector<DiffLine> diff(const Items& a, const Items& b) {
  std::vector<DiffLine> result;
  std::size_t i = 0, j = 0;
  // Too long for the table: line by line.
  if (a.size() > kMostCells || b.size() > kMostCells) {
    for (; i < std::min(a.size(), b.size()); ++i, ++j) {
      if (a[i] == b[j]) {
        result.push_back({Side::Both, a[i]});
        continue;
      }
      result.push_back({Side::First, a[i]});
      result.push_back({Side::Second, b[j]});
    }
  } else {
    const auto length = common_lengths(a, b);
    // Prefers to leave out a line of the first: what was stands before what is.
    while (i < a.size() && j < b.size()) {
      if (a[i] == b[j]) {
        result.push_back({Side::Both, a[i++]});
        ++j;
      } else if (length[i + 1][j] >= length[i][j + 1]) {
        result.push_back({Side::First, a[i++]});
      } else {
        result.push_back({Side::Second, b[j++]});
      }
    }
  }
  for (; i < a.size(); ++i) result.push_back({Side::First, a[i]});
  for (; j < b.size(); ++j) result.push_back({Side::Second, b[j]});
  return result;
}

}  // namespace

std::vector<DiffLine> diff_lines(const std::string& first, const std::string& second) {
  return diff(lines_of(first), lines_of(second));
}

// A nest in pieces that end with a separator, so that joined they give the text again:
//   "m > [n] > C.update"  is  "m >", " [n] >", " C.update"
std::vector<std::string> nest_parts(const std::string& nest) {
  Items parts{""};
  for (const char c : nest) {
    parts.back() += c;
    if (c == '>' || c == '{' || c == '}' || c == ';' || c == '\n') parts.emplace_back();
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::vector<bool> common_parts(const Items& own, const Items& other) {
  std::vector<bool> common;
  for (const DiffLine& line : diff(own, other))
    if (line.side != Side::Second) common.push_back(line.side == Side::Both);
  return common;
}

}  // namespace polyte::lab
