// Names and texts of strangers within other formats. Nothing they hold is more than text there.
#pragma once

#include <string>
#include <string_view>

namespace polyte::lab {

// HTML and XML, in text and in attributes with double quotes. What XML cannot have at all
// (control characters, bytes that are no UTF-8) becomes U+FFFD.
std::string escaped_xml(std::string_view text);
std::string escaped_markdown(std::string_view text);  // within a cell of a table
std::string escaped_latex(std::string_view text);
// RFC 4180; what a spreadsheet would take for a formula is quoted by '.
std::string csv_field(std::string_view text);

}  // namespace polyte::lab
