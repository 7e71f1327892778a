// How threads of a block share the copy of a box: neighbours copy neighbours, and each thread's
// place in the box is the same in every turn, so that a turn adds one number to its address.
//
//   box 8 x 4 x 30, 256 threads      240 threads: 2 x 4 x 30, in 4 turns of the first dimension
//   box 16 x 600, 256 threads        256 threads along the second, in 3 turns, 16 times
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/nest_plan.h"

namespace polyte::schedule {

struct CopyLoop {
  std::string name;
  std::int64_t extent = 1;
};

// Elements that a thread can copy at once, up to 16 bytes: neighbours in memory that are neighbours
// in the box as well, from an address that is a multiple of them. Of each loop the box takes
// `points` iterations at a time.
struct CopyRange {
  std::string loop;
  std::int64_t extent = 1, points = 1;
};
// Elements of the box along that dimension; where the subscript has divisions, no fewer.
std::int64_t box_width(const ir::Index& index, std::span<const CopyRange> ranges);
std::int64_t copy_vector(const ir::Program& program, const ir::Load& load,
                         std::span<const CopyRange> ranges);

// A copy whose neighbours in memory become columns: threads write `neighbours` rows of shared
// memory, each `row` long, at one place after the other. `pad` elements more per row, a multiple of
// `multiple`, and a warp meets the fewest banks twice.
struct TurnedCopy {
  std::int64_t row = 1, neighbours = 1, element_bytes = 4, multiple = 1;
  friend auto operator<=>(const TurnedCopy&, const TurnedCopy&) = default;
};
struct BankPadding {
  std::int64_t pad = 0, wavefronts = 1;  // of a warp's write
};
BankPadding bank_padding(const TurnedCopy& copy);

struct CopyThreads {
  std::string cut;  // the loop that runs `size` at a time; empty: none
  std::int64_t size = 1;
  std::vector<std::string> inner;  // the loops below it: all of their iterations are threads
};
CopyThreads share_copy(const std::vector<CopyLoop>& loops, std::int64_t threads);

// Adds the steps by which loops directly within each other become one, of this name, and its
// iterations threads. One loop alone keeps its name.
void bind_to_threads(const std::string& statement, const std::vector<std::string>& loops,
                     const std::string& name, std::vector<PlannedStep>& steps);

// Of the copy `statement`, whose own loops these are, outermost first, all serial. `vector`: of the
// last one's iterations so many, which divide it, are one access.
std::vector<PlannedStep> copy_by_threads(const std::string& statement, std::vector<CopyLoop> loops,
                                         std::int64_t threads, std::int64_t vector = 1);

}  // namespace polyte::schedule
