// What `check`, `complete` and `prove` say of a schedule: the same words, fields and exit statuses.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "schedule/state/refusal.h"

namespace polyte::cli {

std::string verdict_of(const schedule::Refusal& refusal);  // illegal, unknown, malformed, stale
nlohmann::json to_json(const schedule::Refusal& refusal);
// The verdict of `json` on stdout, or all of it where that is asked for; `explanation` on stderr.
void print_verdict(const nlohmann::json& json, bool as_json, const std::string& explanation);

}  // namespace polyte::cli
