#include "driver/lab/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace polyte::lab {
namespace {

// Characters as a terminal counts them, about: bytes that do not continue one of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// How many bytes the first `characters` take.
std::size_t bytes_of(const std::string& text, std::size_t characters) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U && seen++ == characters) break;
  return at;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t own = width_of(text);
  const std::string blanks(width > own ? width - own : 0, ' ');
  return right ? blanks + text : text + blanks;
}

// Pieces of at most `width`: at blanks where there are some.
// A blank at the beginning is an indentation, and stays in the first line alone.
std::vector<std::string> pieces(const std::string& text, std::size_t width) {
  const std::string indent(std::min<std::size_t>(text.find_first_not_of(' '), width / 2), ' ');
  std::vector<std::string> lines{text.empty() ? "" : indent};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& open = lines.back();
    if (open.find_first_not_of(' ') == std::string::npos) {
      open += word;
    } else if (width_of(open) + 1 + width_of(word) <= width) {
      open += " " + word;
    } else {
      lines.push_back(word);
    }
    for (; width_of(lines.back()) > width && width > 0;) {
      const std::size_t cut = bytes_of(lines.back(), width);
      std::string rest = lines.back().substr(cut);
      lines.back().resize(cut);
      lines.push_back(std::move(rest));
    }
  }
  return lines;
}

}  // namespace

// A row of one cell in a table of several columns is a heading over the whole width.
std::string text_table(const Cells& heads, const std::vector<Cells>& rows, std::size_t width) {
  std::vector<std::size_t> widths(heads.size());
  for (std::size_t c = 0; c < heads.size(); ++c) {
    widths[c] = width_of(heads[c]);
    for (const Cells& row : rows)
      if (row.size() > 1 || heads.size() == 1)
        widths[c] = std::max(widths[c], c < row.size() ? width_of(row[c]) : 0);
  }
  const auto total = [&] {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const std::size_t one : widths) sum += one;
    return sum;
  };
  // The widest column gives way, down to 8 characters: the text of its cells is broken.
  while (total() > width) {
    auto widest = std::ranges::max_element(widths);
    if (*widest <= 8) break;
    --*widest;
  }
  std::string text;
  const auto add = [&](const Cells& row) {
    std::vector<std::vector<std::string>> columns;
    std::size_t height = 1;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      columns.push_back(pieces(c < row.size() ? row[c] : "", widths[c]));
      height = std::max(height, columns.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      for (std::size_t c = 0; c < widths.size(); ++c)
        line +=
            (c ? "  " : "") + padded(i < columns[c].size() ? columns[c][i] : "", widths[c], c > 0);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  };
  add(heads);
  for (const Cells& row : rows)
    if (row.size() == 1 && heads.size() > 1)
      text += wrapped(row[0], "", width);
    else
      add(row);
  return text;
}

std::string wrapped(const std::string& text, const std::string& indent, std::size_t width) {
  std::string result;
  for (const std::string& line : pieces(text, width - indent.size()))
    result += indent + line + "\n";
  return result;
}

// Three digits, in the largest unit of which it has at least one.
std::string time_text(double nanoseconds) {
  static const std::pair<double, const char*> kUnits[] = {
      {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  for (const auto& [scale, unit] : kUnits) {
    if (nanoseconds < scale && scale > 1) continue;
    const double value = nanoseconds / scale;
    char text[48];
    std::snprintf(text, sizeof text, "%.*f %s",
                  value >= 100  ? 0
                  : value >= 10 ? 1
                                : 2,
                  value, unit);
    return text;
  }
  return "";
}

std::string ratio_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, ratio >= 10 ? "%.1fx" : ratio >= 0.1 ? "%.2fx" : "%.2gx", ratio);
  return text;
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

}  // namespace polyte::lab
