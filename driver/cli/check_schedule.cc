#include "driver/cli/check_schedule.h"

#include "driver/cli/verdict.h"
#include "driver/compile/execution_check.h"
#include "driver/compile/second_judge.h"
#include "schedule/proof/rounding.h"
#include "schedule/script/recompute.h"
#include "schedule/script/replay.h"

namespace polyte::cli {
namespace {

ScheduleVerdict refused(const ScheduleCheck& check, nlohmann::json json,
                        const schedule::Refusal& refusal) {
  json["verdict"] = verdict_of(refusal);
  json["refusal"] = to_json(refusal);
  return {std::move(json), schedule::to_string(refusal, check.origin, check.source),
          schedule::exit_status(refusal.kind), refusal, std::nullopt};
}

// The loops are judged by running them: replay was asked for no proof.
void execute(const schedule::State& state, const Machine& machine, ScheduleVerdict& verdict) {
  const ir::Environment inputs = driver::small_integer_environment(*state.basis, 1);
  for (const lower::TraceFault& fault : driver::faults_by_execution(state, machine, inputs)) {
    verdict.json["verdict"] = "illegal";
    verdict.json["faults"].push_back({{"kind", to_string(fault.kind)}, {"text", fault.text}});
    verdict.explanation += to_string(fault.kind) + ": " + fault.text + "\n";
  }
}

}  // namespace

ScheduleVerdict check_schedule(const ScheduleCheck& check) {
  // Running the loops takes numbers for all sizes, where a proof holds for any.
  if (check.by_execution) require_sizes(*check.program, {});
  const Machine machine = target_from(check.target).machine;
  std::vector<std::string> notes;
  schedule::ReplayOptions options;
  if (check.by_execution || check.no_proof) options.proof = schedule::ProofLevel::Off;
  options.notes = &notes;
  auto state = schedule::replay(check.program, check.script, machine, options);
  ScheduleVerdict verdict;
  verdict.json = {{"program", check.program->name}, {"script", check.script.name}};
  nlohmann::json& json = verdict.json;
  if (!notes.empty()) json["notes"] = notes;
  if (!state) return refused(check, std::move(json), state.error());
  const bool too_idle = check.strict && !notes.empty();
  json["verdict"] = too_idle                                ? "refused"
                    : check.no_proof && !check.by_execution ? "not proved"
                                                            : "legal";
  for (const std::string& note : notes)
    verdict.explanation += too_idle ? check.origin + ": " + note + "\n" : "note: " + note + "\n";
  if (check.by_execution) execute(*state, machine, verdict);
  // Only a proof has a second judge; loops that were run are judged by what they did.
  if (!check.by_execution && check.second_judge && json["verdict"] == "legal")
    json["second_judge"] =
        driver::ask_second_judge({*state, check.script}, machine, driver::kPatientJudgeSteps).text;
  schedule::Prover prover(check.program);
  json["rounding"] = schedule::rounding_notes(*state, prover);
  for (const schedule::Recompute& each : schedule::recompute_factors(*state))
    json["recomputed"].push_back({{"statement", each.statement},
                                  {"instances", each.instances},
                                  {"reference", each.reference}});
  const bool legal = json["verdict"] == "legal" || json["verdict"] == "not proved";
  verdict.status = legal ? ExitStatus::Success : ExitStatus::Refused;
  verdict.state = *std::move(state);
  return verdict;
}

}  // namespace polyte::cli
