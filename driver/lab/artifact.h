// The artifact appendix of a paper (ACM's artifact review and badging, version 1.1): what
// the results claim, what is needed to see whether they hold, and how. Made of the results
// alone, as Markdown.
#pragma once

#include <string>

#include "driver/lab/results.h"

namespace polyte::lab {

std::string artifact_appendix(const Results& results);

}  // namespace polyte::lab
