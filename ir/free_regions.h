// Regions whose loops order nothing. A person may write
//
//   loop m in 0..M                        C[m, n] = sum[k] A[m, k] * B[k, n]
//     C[m, n] = sum[k] A[m, k] * B[k, n]
//
//                                         loop k in 0..K
//                                           C[m, n] += A[m, k] * B[k, n]
//
// where the iterations of the loop touch different elements, or are the terms of a sum: a
// scheduler plans all of them as one Program without the region, and its script tells the
// statements' loops apart first (`distribute m`). What it makes of that is proved on the Program
// as it was written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::ir {

struct FreeRegions {
  struct Loop {
    std::string statement, iterator;  // a statement of the region; it has others
  };
  Program program;           // without regions; the same statements, iterators and names
  std::vector<Loop> shared;  // loops that several statements had together, innermost first
};

// Names and subscripts as they stand are compared. nullopt: there is no region, or one that
// may order something.
std::optional<FreeRegions> without_regions(const Program& program);

}  // namespace polyte::ir
