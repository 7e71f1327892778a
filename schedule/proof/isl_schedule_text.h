// The order of a State as an isl schedule tree in isl's own text (YAML), which
// isl_schedule_read_from_str, islpy and iscc read: for tools that draw, measure or transform
// such trees. Each loop is a band of one member under a mark with its name and kind ("par m.o"),
// coincident where its iterations run at once; sequences are sequences.
//
//   nest par t > { i > B; i > A }      domain: "{ B[t, i] : ...; A[t, i] : ... }"
//                                      child: mark "par t", band { B[t, i] -> [(t)];
//                                             A[t, i] -> [(t)] }, sequence ...
//
// Statements have the names of isl_names.h; copies that a `stage` has made are statements as all
// others. Where things lie in memory is no part of it.
#pragma once

#include <string>

#include "schedule/state/state.h"

namespace polyte::schedule {

std::string isl_schedule_text(const State& state);

}  // namespace polyte::schedule
