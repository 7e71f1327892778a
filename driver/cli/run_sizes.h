// Values for the sizes that an artifact leaves open, where a verb makes the inputs itself.
#pragma once

#include <string>
#include <vector>

#include "driver/cli/cli.h"
#include "runtime/session.h"

namespace polyte::cli {

// One per symbol of the session: from the tensors that are given for its inputs, and from `shapes`,
// which are items of --shape, batch=4 or image=4x3x224x224. UserError(Usage) lists what is open
// after that, out of its range, said in two ways, or no size of this artifact.
std::vector<std::int64_t> run_sizes(const runtime::Session& session, const GivenTensors& given,
                                    const std::vector<std::string>& shapes);

}  // namespace polyte::cli
