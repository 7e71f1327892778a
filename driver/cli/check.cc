// polyte check: is this schedule legal for this Program, or for this group of a model? Exit status
// 0, 1 (with the counterexample) or 8 (unknown).
#include <iostream>

#include "driver/cli/model_options.h"
#include "driver/cli/verdict.h"
#include "driver/compile/execution_check.h"
#include "driver/compile/second_judge.h"
#include "driver/judge/certificate_text.h"
#include "schedule/proof/rounding.h"
#include "schedule/script/recompute.h"
#include "schedule/script/replay.h"

namespace polyte::cli {
namespace {

struct CheckOptions {
  OperatorOptions source;
  ModelVerbOptions model;  // of an ONNX file
  std::string group;
  std::string script;
  std::vector<std::string> params;
  std::string target = "cpu:native";
  std::string certificate;
  bool no_proof = false;
  bool json = false, by_execution = false, strict = false, bits = false, no_second_judge = false;
};

// What is checked: a Program whose sizes may be open, or a group of a model.
struct Subject {
  std::shared_ptr<const ir::Program> program;
  std::string source;  // as `polyte interpret` takes it
};

// The sizes that were given, for the line that replays a refusal; a range is left
// to the counterexample.
std::string shape_text(const std::vector<std::string>& shape) {
  std::string text;
  for (const std::string& size : shape) {
    if (size.find("..") != std::string::npos) return "";
    text += (text.empty() ? " --shape " : ",") + size;
  }
  return text;
}

Subject subject_of(const CheckOptions& options, schedule::Script& script) {
  const std::string& source = options.source.source;
  if (is_artifact(source))
    throw UserError(
        ExitStatus::Usage,
        source + ": an artifact holds machine code, expected a Program or an ONNX file");
  if (is_model(source)) {
    ModelVerbOptions model = options.model;
    model.shapes = options.source.shape;
    model.target = options.target;
    const auto program = load_group({source, options.group, options.script, model}, &script);
    return {program, source + " --group " + program->name + shape_text(options.source.shape)};
  }
  if (!options.group.empty())
    throw UserError(ExitStatus::Usage, "--group " + options.group + ": only a model has groups");
  const std::string quoted = source.find(' ') == std::string::npos ? source : "'" + source + "'";
  return {load_symbolic_program(options.source, script.program),
          quoted + shape_text(options.source.shape)};
}

// What the legal schedule computes more than once.
void print_recompute(const schedule::State& state) {
  for (const schedule::Recompute& each : schedule::recompute_factors(state))
    std::cout << "recomputed: " << schedule::print(each) << "\n";
}

int run_bits(const CheckOptions& options) {
  const std::string& source = options.source.source;
  if (!is_model(source)) throw UserError(ExitStatus::Usage, source + ": --bits takes an ONNX file");
  if (!options.script.empty())
    throw UserError(ExitStatus::Usage, "--bits checks what the schedulers write: no --script");
  ModelVerbOptions model = options.model;
  model.shapes = options.source.shape;
  return check_bits(source, model, options.target, options.json);
}

int run_check(const CheckOptions& options) {
  if (options.bits) return run_bits(options);
  if (options.script.empty())
    throw UserError(ExitStatus::Usage, "--script is required, or --bits for a model");
  schedule::Script script = load_script(options.script, options.params);
  const Subject subject = subject_of(options, script);
  // Running the loops takes numbers for all sizes, where a proof holds for any.
  if (options.by_execution) require_sizes(*subject.program, {});
  const Machine machine = target_from(options.target).machine;
  schedule::ReplayOptions replay_options;
  if (options.by_execution || options.no_proof) replay_options.proof = schedule::ProofLevel::Off;
  std::vector<std::string> notes;
  replay_options.notes = &notes;
  const auto state = schedule::replay(subject.program, script, machine, replay_options);
  nlohmann::json json{{"program", subject.program->name}, {"script", script.name}};
  if (!notes.empty()) json["notes"] = notes;
  if (!state) {
    json["verdict"] = verdict_of(state.error());
    json["refusal"] = to_json(state.error());
    const std::string where = options.target == "cpu:native" ? "" : " --target " + options.target;
    print_verdict(json, options.json,
                  schedule::to_string(state.error(), options.script, subject.source + where));
    return static_cast<int>(schedule::exit_status(state.error().kind));
  }
  const bool too_idle = options.strict && !notes.empty();
  json["verdict"] = too_idle                                    ? "refused"
                    : options.no_proof && !options.by_execution ? "not proved"
                                                                : "legal";
  // Also without a proof: --no-proof writes what another judge is to decide.
  if (!options.certificate.empty())
    write_file(options.certificate, driver::certificate_text(*state));
  std::string explanation;
  for (const std::string& note : notes)
    explanation += too_idle ? options.script + ": " + note + "\n" : "note: " + note + "\n";
  // The loops are judged by running them: replay was asked for no proof above.
  if (options.by_execution) {
    const ir::Environment inputs = driver::small_integer_environment(*state->basis, 1);
    for (const lower::TraceFault& fault : driver::faults_by_execution(*state, machine, inputs)) {
      json["verdict"] = "illegal";
      json["faults"].push_back({{"kind", to_string(fault.kind)}, {"text", fault.text}});
      explanation += to_string(fault.kind) + ": " + fault.text + "\n";
    }
  }
  // Only a proof has a second judge; loops that were run are judged by what they did.
  if (!options.by_execution && !options.no_second_judge && json["verdict"] == "legal") {
    json["second_judge"] =
        driver::ask_second_judge({*state, script}, machine, driver::kPatientJudgeSteps).text;
  }
  schedule::Prover prover(subject.program);
  json["rounding"] = schedule::rounding_notes(*state, prover);
  for (const schedule::Recompute& each : schedule::recompute_factors(*state))
    json["recomputed"].push_back({{"statement", each.statement},
                                  {"instances", each.instances},
                                  {"reference", each.reference}});
  const bool legal = json["verdict"] == "legal" || json["verdict"] == "not proved";
  print_verdict(json, options.json, explanation);
  if (legal && !options.json) print_recompute(*state);
  return static_cast<int>(legal ? ExitStatus::Success : ExitStatus::Refused);
}

}  // namespace

void add_check(const Verb& app) {
  const Verb verb =
      app.verb("check", "is this schedule legal for this Program, operator or group of a model?");
  auto options = std::make_shared<CheckOptions>();
  add_operator_options(verb, options->source);
  verb.existing("program").description(
      "a file of Program text, index notation in quotes, or an ONNX file");
  add_group_options(verb, options->model);
  verb.option("--script", options->script, "the schedule");
  add_param_option(verb, options->params);
  verb.flag("--strict", options->strict, "a directive without effect is an error");
  verb.option("--group", options->group,
              "of a model: the group, where it is not the one that the header names");
  verb.option("--target", options->target, kTargetHelp).shows_default();
  verb.flag("--bits", options->bits,
            "of a model: every group by every scheduler, with 1 and 2 threads (of a GPU, emulated "
            "in order and in a "
            "random order) and in the interpreter: equal bits");
  verb.option("--certificate", options->certificate,
              "write what the verdict rests on (docs/certificate.md)");
  verb.flag("--no-proof", options->no_proof,
            "replay only: with --certificate, another judge decides");
  verb.flag("--by-execution", options->by_execution,
            "decide by interpreting the loops (sizes must be bound)");
  add_judge_option(verb, options->no_second_judge);
  verb.flag("--json", options->json, "the verdict as JSON");
  verb.example("polyte check jacobi.program --script jacobi.sched");
  verb.calls([options] { return run_check(*options); });
}

}  // namespace polyte::cli
