// Problems of a Program together with what they are about, so that a parser can add the line.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::ir {

struct Problem {
  std::string subject;  // "statement 'y'", "buffer 'x'", or empty for the Program itself
  std::string message;
};
std::vector<Problem> find_problems(const Program& program);

}  // namespace polyte::ir
