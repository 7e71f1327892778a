// Is a schedule legal for a Program? What `polyte check` answers, and Python's polyte.check.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/cli/model_options.h"
#include "schedule/script/script.h"
#include "schedule/state/state.h"
#include "support/error.h"

namespace polyte::cli {

struct ScheduleCheck {
  std::shared_ptr<const ir::Program> program;  // sizes may be open
  schedule::Script script;
  std::string origin = "script";  // of it, in messages
  std::string source = {};        // what `polyte interpret` is given to replay a refusal
  std::string target = "cpu:native";
  // strict: a directive without effect is an error; by_execution: the loops are interpreted, which
  // takes sizes; no_proof: replay only.
  bool strict = false, by_execution = false, no_proof = false, second_judge = true;
};

struct ScheduleVerdict {
  nlohmann::json json;  // program, script, verdict, notes, refusal .. as check --json prints it
  std::string explanation;
  ExitStatus status = ExitStatus::Success;
  std::optional<schedule::Refusal> refusal = {};
  std::optional<schedule::State> state = {};  // where the script could be replayed
};
ScheduleVerdict check_schedule(const ScheduleCheck& check);

// Of a model: every group by every scheduler, with 1 and 2 threads, and in the interpreter.
struct BitsVerdict {
  nlohmann::ordered_json json;
  std::string text;
  ExitStatus status = ExitStatus::Success;
};
BitsVerdict check_model_bits(const std::string& path, const ModelVerbOptions& model,
                             const std::string& target);

}  // namespace polyte::cli
