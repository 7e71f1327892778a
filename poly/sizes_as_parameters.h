// A Program whose sizes were bound, with these sizes as parameters again: constants near a size are
// written as that size and a distance. isl then keeps 2000 out of its rows, and triangles in its
// dependences, where numbers make either expensive. Not the Program that was bound, only one with
// the same instances at these sizes.
#pragma once

#include "ir/program.h"

namespace polyte::poly {

// Sizes of 16 and less stay numbers: they are windows and channels, not extents to generalise over.
ir::Program with_sizes_as_parameters(const ir::Program& bound);

}  // namespace polyte::poly
