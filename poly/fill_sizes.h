// Sizes for the holes of a script, as they go with a whole schedule: the one that this has for
// the same loop, where nothing else is given; else the one by which the finished nest costs least
// (state_price.h), hole by hole.
#pragma once

#include "poly/completion_candidate.h"

namespace polyte::poly {

// The refusal that all sizes meet, where they do.
Result<Sizes, schedule::Refusal> sizes_for(const CompletionTask& task,
                                           const CompletionSource& source);

}  // namespace polyte::poly
