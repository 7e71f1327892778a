// polyte check: is this schedule legal for this Program, or for this group of a model? Exit status
// 0, 1 (with the counterexample) or 8 (unknown).
#include <iostream>

#include "driver/cli/check_schedule.h"
#include "driver/cli/verdict.h"
#include "driver/judge/certificate_text.h"
#include "schedule/script/recompute.h"

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
  const std::string where = options.target == "cpu:native" ? "" : " --target " + options.target;
  const ScheduleVerdict verdict = check_schedule({.program = subject.program,
                                                  .script = std::move(script),
                                                  .origin = options.script,
                                                  .source = subject.source + where,
                                                  .target = options.target,
                                                  .strict = options.strict,
                                                  .by_execution = options.by_execution,
                                                  .no_proof = options.no_proof,
                                                  .second_judge = !options.no_second_judge});
  // Also without a proof: --no-proof writes what another judge is to decide.
  if (verdict.state && !options.certificate.empty())
    write_file(options.certificate, driver::certificate_text(*verdict.state));
  print_verdict(verdict.json, options.json, verdict.explanation);
  if (verdict.status == ExitStatus::Success && !options.json) print_recompute(*verdict.state);
  return static_cast<int>(verdict.status);
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
