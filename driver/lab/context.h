// Where and with what samples were taken: the first line of a run, and of everything made of it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "driver/lab/plan.h"

namespace polyte::lab {

// Date (UTC), machine (model, processors, caches, features, system), Polyte (version, digest of its
// code as loaded), compilers of the peers, measured ceilings, load.
nlohmann::ordered_json make_context(const Plan& plan);

}  // namespace polyte::lab
