// Tables of plain text that fit a terminal: columns as wide as what is in them, the widest cut
// where 80 are passed.
#pragma once

#include <string>
#include <vector>

namespace polyte::lab {

using Cells = std::vector<std::string>;

// The first column is at the left, the others at the right edge of theirs; a cell that is too long
// for the width that is left goes on in the next line. Lines end in a newline.
std::string text_table(const Cells& heads, const std::vector<Cells>& rows, std::size_t width = 80);

// Text broken at blanks into lines of at most `width`, each begun by `indent`.
std::string wrapped(const std::string& text, const std::string& indent, std::size_t width = 80);

std::string time_text(double nanoseconds);  // "581 us", "5.81 ms": three digits
std::string ratio_text(double ratio);       // "1.02x"
std::string percent_text(double share);     // "2.1 %"

}  // namespace polyte::lab
