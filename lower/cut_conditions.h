// The conditions that stand in the way of loops that are written out: bounds of Unrolled and
// Vector loops that are a minimum, guards of statements and of reads inside such loops. For
// partition_loops and cut_regions, which make a copy of the code where all of them hold. A division
// that changes once while a Vector loop runs is one, too, in both directions: before and behind it
// the subscript advances evenly.
//
//   unrolled i in 0..min(4, N - 4*t)  if i + j <= M ..      N - 4*t - 4 >= 0,  M - i - j >= 0
//   vector j in 0..8  x[(8*t + j + 37) % 1000]              962 - 8*t - j >= 0,  8*t + j - 963 >= 0
#pragma once

#include <functional>
#include <set>
#include <string>

#include "ir/facts.h"
#include "ir/loop_program.h"

namespace polyte::lower {

// Calls `see` with each condition e >= 0 below s, and the loops between s and it, which `facts`
// then know. `expanded`: s itself is inside a loop that is written out; `vector`: the variable of
// the Vector loop whose body s is, or "". Loops that are `uncut` keep their bounds.
void for_each_cut_condition(
    const ir::Stmt& s, bool expanded, const std::string& vector, ir::Facts& facts,
    const std::function<void(const ir::Affine& e, const std::set<std::string>& inside)>& see);

}  // namespace polyte::lower
