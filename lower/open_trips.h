// Unrolled loops whose trips open sizes decide: at the end of a split, any number below that of a
// tile. For partition_loops, which gives each number a branch of its own.
//
//   unrolled j in 0..(N % 3)        count N % 3, least 0, most 2
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/facts.h"
#include "ir/loop_program.h"

namespace polyte::lower {

struct OpenTrips {
  ir::Affine count;  // over parameters alone: a loop outside would have to ask in each of its trips
  std::int64_t least = 0, most = 0;
};

// Of the first such loop below s, where its trips lie within few.
std::optional<OpenTrips> open_trips(const ir::Stmt& s, const ir::Facts& facts,
                                    const std::vector<std::string>& params);

// The same where `count` is this number: loops with so many trips have constant extents.
ir::Stmt with_trips(const ir::Stmt& s, const ir::Affine& count, std::int64_t number);

}  // namespace polyte::lower
