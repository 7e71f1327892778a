// Guarded reads as padding: what the guards of the reads of a buffer say of the element that is
// read, so that a copy can store the value outside.
//
//   x[h+r-1] where 0 <= h+r-1 < H, else 0
//   guard $0 >= 0, $0 < H over the coordinate $0, otherwise 0
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

struct Padding {
  std::vector<ir::Constraint> guard;  // over coordinates of the element
  ir::Expr otherwise;                 // null: no guarded read
};

std::string coordinate_name(std::size_t dimension);  // "$0"

// Of all reads of `buffer` by `users`; none where one of them writes it: only what exists is
// made there, and the reads keep their guards. Conservative where guards are not about single
// indices, or differ.
Result<Padding, Refusal> padding_of(const State& state, const std::string& buffer,
                                    const std::vector<std::string>& users);

}  // namespace polyte::schedule
