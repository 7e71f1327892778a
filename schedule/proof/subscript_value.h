// Whether the element that is touched says a value of the iteration that touches it: without
// integer sets, by the form of the subscripts. What most schedules want to know of most loops is
// of this kind.
//
//   y[f, q] at loop value f//64*2 + q//28
//     said by the plain subscripts f and q
//   a[f//8 - 8*(f//64), q % 14] at 14*(f//8 - 8*(f//64)) + q % 14
//     14 times the first and once the second
#pragma once

#include <vector>

#include "ir/program.h"

namespace polyte::schedule {

struct ValueAtAccess {
  const ir::Access* access = nullptr;
  ir::Affine value;  // over the iterators of the statement that accesses
};

// True where all accesses of one element are at one value, whichever of them and at whichever
// iterations. False only means that it does not show.
bool is_value_of_element(const std::vector<ValueAtAccess>& all);

}  // namespace polyte::schedule
