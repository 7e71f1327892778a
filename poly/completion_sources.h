// Whole schedules of a Program that a completion learns from: what it is to keep of them is
// the script's matter.
#pragma once

#include <string>
#include <vector>

#include "poly/auto_schedule.h"

namespace polyte::poly {

struct CompletionSource {
  std::string name;
  schedule::Script script;
  bool has_kinds = true;  // which loops are vectors and shared by threads is decided
};

// poly's own script first, then those of its other plans, isl's order, the template's, and the
// reference order, which is always there. Of a GPU poly's and the reference order alone.
std::vector<CompletionSource> completion_sources(const ir::Program& program, const Machine& machine,
                                                 const PolyOptions& options);

}  // namespace polyte::poly
