// OpenScop's text, by which polyhedral tools (Clan, Candl, Pluto, CLooG) talk to each other: each
// statement's domain, scattering (its time), and accesses, as matrices of integers.
//
//   SCATTERING
//   3 7 3 1 0 1
//   # e/i| c1   c2   c3 |  i |  N |  1
//      0   -1    0    0    0    0    0    ## c1 == 0
//      0    0   -1    0    1    0    0    ## c2 == i
//      0    0    0   -1    0    0    1    ## c3 == 1
//
// Floors are local dimensions. The format's specification is that of OpenScop 1.0 (Bastoul 2011).
#pragma once

#include <string>

#include "ir/program.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

// The statements of a State in its order, copies that a `stage` has made included. Subscripts read
// at run time leave their dimension free: such a write is MAY_WRITE. The body is Program text with
// brackets as C has them.
std::string openscop_text(const State& state);

bool is_openscop(const std::string& text);
// The scatterings of a file as isl's union map. Statements are the Program's, in order; sizes by
// name, where the file has names. UserError(InvalidInput) with the line and what was expected.
std::string isl_text_of_openscop(const std::string& text, const ir::Program& program,
                                 const std::string& origin);

}  // namespace polyte::schedule
