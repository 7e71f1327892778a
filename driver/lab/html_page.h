// The fixed parts of the HTML report: how it looks, and the few lines that sort its tables.
// Nothing is fetched.
#pragma once

namespace polyte::lab {

// Light and dark, narrow and wide, on paper; told apart by position and shape as well as by colour.
extern const char* const kReportStyle;
// Heads of tables with class `sortable` are buttons: a click, Enter or the space bar
// sorts, and once more reverses the order.
extern const char* const kReportScript;

}  // namespace polyte::lab
