// A FuzzReport as JSON, both ways: what `polyte fuzz --json` prints, and what `--log`
// continues from.
#pragma once

#include <nlohmann/json.hpp>

#include "driver/judge/fuzz/fuzz.h"

namespace polyte::cli {

struct FuzzIdentity {  // what the runs of one report have in common
  std::string fuzzer;
  std::uint64_t seed = 1;
  std::string target;
  int native_percent = 0;
  bool open = false;
};

// "polyte fuzz schedule --seed 9 --only 853".
std::string replay_line(const FuzzIdentity& identity, std::uint64_t run);

nlohmann::ordered_json to_json(const FuzzIdentity& identity, const fuzz::FuzzReport& report);

// UserError(InvalidInput) where the text is no report, or one of other runs.
fuzz::FuzzReport read_report(const std::string& text, const FuzzIdentity& identity,
                             const std::string& origin);

}  // namespace polyte::cli
