// Polyte's manual schedules: for each structure of Program (not for each operator) the schedule that a person who
// knows the machine would write, with sizes from schedule/cost/tile_model.h.
//
//   contraction   register tile, packed operands, padded copy of a guarded input, epilogue on the registers
//   rows          sums of rows and what is made of them, in passes over a few rows at a time, lanes along the row
//   reduction     vectors over a free dimension, accumulators in registers, epilogue in the same nest
//   element-wise  threads outside, vectors innermost
//
// A Program is a sequence of nests; each gets the first template that takes it (templates.cc has the list).
#pragma once

#include <string>
#include <vector>

#include "schedule/script/script.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

struct TemplateOptions {
  bool keep_order = false;                    // of floating-point sums: no `reassoc`
  std::vector<std::string>* notes = nullptr;  // receives which statements stay in reference order, and why
};

// A Script whose directives carry Provenance::Template. Sizes of the Program must be numbers.
Result<Script> make_template(const ir::Program& program, const Machine& machine, const TemplateOptions& options = {});

}  // namespace polyte::schedule
