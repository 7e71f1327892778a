// A refusal as the JSON of check and complete has it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "schedule/state/refusal.h"

namespace polyte::cli {

std::string verdict_of(const schedule::Refusal& refusal);  // "illegal", "malformed", "stale", "unknown"
nlohmann::json to_json(const schedule::Refusal& refusal);

}  // namespace polyte::cli
