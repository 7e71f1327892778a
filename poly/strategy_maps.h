// Nests whose loops isl skews, shifts or reverses: a `map`, tiles of the band where it is permutable, and the innermost
// loop in vectors where that is proved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct MappedLines {
  std::string lines;
  std::vector<std::string> notes;  // what could not be had
};

// Script lines of one mapped nest, which replay; `before`: the lines of the nests before it. No lines where isl's order
// is the Program's. nullopt where the nest is not worth its map: statements outside an ordered region whose lanes are
// not innermost, or that several cores could share; or where the map itself is refused.
std::optional<MappedLines> schedule_mapped_nest(const ir::Program& program, const Core& nest, const Machine& machine,
                                                bool affine_core_only, const std::string& before);

}  // namespace polyte::poly
