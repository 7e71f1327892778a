// Nests whose loops isl skews, shifts or reverses: a `map`, tiles of the band where it is permutable, and the innermost
// loop in vectors where that is proved.
#pragma once

#include "poly/affine_core.h"
#include "schedule/language/state.h"
#include "support/machine.h"

namespace polyte::poly {

// Script lines of one mapped nest; `before`: the lines of the nests before it. Empty where the nest is not worth its
// map: statements outside an ordered region whose lanes are not innermost, or that several cores could share.
std::string schedule_mapped_nest(const ir::Program& program, const Core& nest, const Machine& machine,
                                 bool affine_core_only, const std::string& before);

}  // namespace polyte::poly
