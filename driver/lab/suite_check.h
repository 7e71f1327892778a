// A suite's Programs held to the lab's own references at sizes that are quick, without
// measuring anything.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/suite.h"

namespace polyte::lab {

struct SuiteFinding {
  std::string row;  // the first of the rows that have this Program
  std::string arm;
  std::string problem;   // empty: it is right
  std::string declined;  // the arm cannot be had for it, and why
};

// Each Program of the suite once, at reduced sizes, by each arm against the interpreter. Rows
// that share a Program and differ in sizes alone are one. No arms: the reference order as C by any
// compiler, else by ours.
std::vector<SuiteFinding> check_suite(const Suite& suite, std::vector<ArmSpec> arms);

}  // namespace polyte::lab
