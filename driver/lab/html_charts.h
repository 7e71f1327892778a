// Pictures of the HTML report, as SVG inside of it. Every figure of a picture is also in a table;
// each has a title that screen readers read.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/results.h"

namespace polyte::lab {

// Ratios of a row's arms to the baseline on a logarithmic axis, each a bar from 1 with
// its interval.
std::string bars_svg(const Results& results, const RowResult& row);

// Measured ceilings, and each timed arm of all rows at its operations per byte (S. Williams et al.,
// 2009). Empty where they are not known of any row.
std::string roofline_svg(const Results& results);

// Measured time over predicted time of every arm that has both. Empty where none has.
std::string predicted_svg(const Results& results);

// Time over one size or over threads where rows differ in nothing else; one picture per family.
std::vector<std::string> scaling_svgs(const Results& results);

}  // namespace polyte::lab
