// Copies of a tensor that nobody outside of them can tell: what an iteration of the loop at
// which they are staged reads and writes in the copy has been copied in before and is copied back
// behind, and nothing else in the iteration touches what is written there. The values that reads
// take are then those of a model in which the statements use the tensor itself. That is decided
// iteration by iteration, without asking who wrote what when (source_finder.h), which of nests
// of many statements takes seconds. Internal to schedule/proof; the argument is in docs/proof.md,
// section 2.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

// The model with the accesses to such copies of the tensor in place, as far as this is seen;
// other copies stay. Copies that are gone have statements without accesses, and their storage is
// of itself (IslBuffer::of).
IslModel without_transparent_copies(IslModel model, const std::string& tensor);

}  // namespace polyte::schedule
