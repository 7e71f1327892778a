// A refusal as the JSON of check and complete has it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "schedule/state/refusal.h"

namespace polyte::cli {

std::string verdict_of(const schedule::Refusal& refusal);  // "illegal", "malformed", "stale", "unknown"
nlohmann::json to_json(const schedule::Refusal& refusal);
// The sizes that were given, " --shape N=4", for the line that replays a refusal; a range is left to the
// counterexample.
std::string shape_text(const std::vector<std::string>& shape);

}  // namespace polyte::cli
