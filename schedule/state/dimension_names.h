// Names of a tensor's dimensions, as a stage's layout and the loops of its copies use them.
//
//   y[i, j] = x[i, j + 1] + w[j, 0]       y: i, j      x: i, d1      w: j, d1
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::schedule {

// As the statements subscript the tensor, those that write it first: an iterator of its own, each
// once; else d and the dimension's number. What `given` names already stays.
std::vector<std::string> dimension_names(const ir::Program& program, const std::string& buffer,
                                         std::vector<std::string> given);

}  // namespace polyte::schedule
