// Affine expressions, constraints and bounds of loop text: `14*m.o + m.i//2`, `k.o == 0`,
// `min(14, 1021 - 14*m.o)`.
#pragma once

#include <string_view>
#include <vector>

#include "ir/affine.h"
#include "ir/loop_cursor.h"

namespace polyte::ir::loop_text {

// Ends before what does not go on with it, and before the `+ {..}` of a subscript that is read
// at run time.
Affine parse_affine(Cursor& c);
Constraint parse_constraint(Cursor& c);
std::vector<Affine> parse_affine_list(Cursor& c, std::string_view close);
// `function(a, b)`, or one value alone.
std::vector<Affine> parse_bound(Cursor& c, std::string_view function);

}  // namespace polyte::ir::loop_text
