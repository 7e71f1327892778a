// Twenty Programs for fuzz complete, of as many shapes: products, rows, windows, triangles,
// stencils in time, recurrences. Whole numbers stay whole in all of them, so that every legal order
// of their sums gives the same bits.
#pragma once

#include <span>

#include "driver/judge/fuzz/random_program.h"

namespace polyte::fuzz {

std::span<const RandomProgram> completion_programs();

}  // namespace polyte::fuzz
