// Plans and records for tests: no program is compiled for them.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "driver/lab/record.h"

namespace polyte::lab::testing {

// Rows r0, r1, .. of one program; the first arm is the baseline; 2 to 4 processes, an interval
// of 5 percent.
inline Plan made_up_plan(const std::vector<std::string>& arms, int rows) {
  Plan plan;
  plan.name = "made up";
  plan.programs.push_back({"f", "abc123", "", ""});
  for (int i = 0; i < rows; ++i)
    plan.rows.push_back({"r" + std::to_string(i), 0, {}, 1, "normal:1", Caches::Warm});
  for (const std::string& arm : arms)
    plan.arms.push_back({{arm, ArmSpec::Kind::Scheduler, arm, {}}, {}});
  plan.baseline = arms[0];
  plan.stop.processes_least = 2;
  plan.stop.processes_most = 4;
  plan.stop.width = 0.05;
  return plan;
}

inline nlohmann::ordered_json head(const char* kind, int row, int process, int attempt) {
  return {{"kind", kind}, {"row", row}, {"process", process}, {"attempt", attempt}};
}

inline std::string arm_text(int row, int process, const std::string& arm, const std::string& status,
                            const std::string& reason = "", const std::string& identical_to = "") {
  nlohmann::ordered_json json = head("arm", row, process, 0);
  json["arm"] = arm;
  json["status"] = status;
  json["reason"] = reason;
  if (!identical_to.empty()) json["identical_to"] = identical_to;
  return json.dump() + "\n";
}

// The lines of a whole process: its arms (all well), rounds and end.
inline std::string process_text(
    int row, int process, const std::vector<std::pair<std::string, std::vector<double>>>& samples,
    int attempt) {
  std::string text;
  for (const auto& [arm, values] : samples) {
    nlohmann::ordered_json json = head("arm", row, process, attempt);
    json["arm"] = arm;
    json["status"] = "ok";
    if (arm != kAgain) text += json.dump() + "\n";
  }
  for (std::size_t round = 0; round < samples[0].second.size(); ++round) {
    nlohmann::ordered_json json = head("round", row, process, attempt);
    json["round"] = round;
    json["samples"] = nlohmann::ordered_json::array();
    for (const auto& [arm, values] : samples)
      json["samples"].push_back({arm, values.at(round), 10});
    text += json.dump() + "\n";
  }
  nlohmann::ordered_json end = head("process", row, process, attempt);
  end["flops"] = 1000;
  end["bytes"] = 100;
  end["dtype"] = "f32";
  end["peak_flops_a_thread"] = 5e10;
  return text + end.dump() + "\n";
}

}  // namespace polyte::lab::testing
