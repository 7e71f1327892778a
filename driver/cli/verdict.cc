#include "driver/cli/verdict.h"

#include <iostream>

#include "driver/api/verdict.h"

namespace polyte::cli {

std::string verdict_of(const schedule::Refusal& refusal) { return api::verdict_of(refusal); }

nlohmann::json to_json(const schedule::Refusal& refusal) {
  nlohmann::json json{
      {"headline", refusal.headline}, {"directive", refusal.directive}, {"line", refusal.line}};
  json["advice"] = refusal.advice;
  json["counterexamples"] = nlohmann::json::array();
  for (const schedule::Counterexample& c : refusal.counterexamples) {
    json["counterexamples"].push_back({{"dependence", c.dependence},
                                       {"reference", c.reference},
                                       {"scheduled", c.scheduled},
                                       {"watch", c.watch},
                                       {"sizes", c.sizes}});
  }
  return json;
}

void print_verdict(const nlohmann::json& json, bool as_json, const std::string& explanation) {
  if (as_json) {
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::cout << "verdict: " << json["verdict"].get<std::string>() << "\n";
  if (json.contains("second_judge"))
    std::cout << "second judge: " << json["second_judge"].get<std::string>() << "\n";
  if (json.contains("rounding"))
    for (const auto& note : json["rounding"])
      std::cout << "rounding: " << note.get<std::string>() << "\n";
  // On stderr, so that stdout is the verdict alone for whoever reads it by program.
  std::cerr << explanation;
}

}  // namespace polyte::cli
