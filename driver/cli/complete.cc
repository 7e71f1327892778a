// polyte complete: a script with holes made whole (docs/scripts-with-holes.md). Exit status 0 with
// the script, or 1 with the line that stands in the way.
#include "poly/complete.h"

#include <nlohmann/json.hpp>

#include <iostream>

#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/cli/verdict.h"
#include "schedule/script/pins.h"

namespace polyte::cli {
namespace {

struct CompleteOptions {
  OperatorOptions source;
  ModelVerbOptions model;  // of an ONNX file
  std::string group, script, output;
  std::vector<std::string> params;
  std::string target = "cpu:native";
  int threads = 0;
  bool json = false, explain = false, exact = false;
};

// The Program that the script is for: of a model the group that it names, of a file with
// several programs the one.
std::shared_ptr<const ir::Program> program_of(const CompleteOptions& options,
                                              schedule::Script& script) {
  const std::string& source = options.source.source;
  if (is_model(source)) {
    ModelVerbOptions model = options.model;
    model.shapes = options.source.shape;
    model.target = options.target;
    return load_group({source, options.group, options.script, model}, &script);
  }
  if (!options.group.empty())
    throw UserError(ExitStatus::Usage, "--group " + options.group + ": only a model has groups");
  const auto programs = load_programs(options.source);
  for (const auto& program : programs)
    if (programs.size() == 1 || program->name == script.program) return program;
  throw UserError(ExitStatus::InvalidInput,
                  source + ": there is no program called " + script.program);
}

int refuse(const CompleteOptions& options, const schedule::Refusal& refusal) {
  if (options.json) {
    nlohmann::json json{{"script", nullptr}, {"verdict", verdict_of(refusal)}};
    json["refusal"] = to_json(refusal);
    std::cout << json.dump(2) << "\n";
  }
  // What has holes cannot be watched.
  std::cerr << schedule::to_string(refusal, options.script, "");
  return static_cast<int>(schedule::exit_status(refusal.kind));
}

int run_complete(const CompleteOptions& options) {
  schedule::Script script = load_script(options.script, options.params);
  if (!options.output.empty())
    check_output_file("-o " + options.output, options.output, {options.script});
  const auto program = program_of(options, script);
  const Machine machine = target_from(options.target, options.threads).machine;
  poly::PolyOptions how;
  std::vector<std::string> considered;
  how.keep_order = options.exact;
  how.considered = &considered;
  const auto completion = poly::complete(program, script, machine, how);
  // What was weighed goes to stderr, where it does not mix with the script.
  if (options.explain)
    for (const std::string& line : considered) std::cerr << line << "\n";
  if (!completion) return refuse(options, completion.error());
  const std::string text = schedule::print(completion->script);
  if (!options.output.empty()) write_file(options.output, text);
  if (options.json) {
    const nlohmann::json json{
        {"program", program->name},
        {"script", text},
        {"verdict", "legal"},
        {"had_holes", schedule::has_holes(script) || script.directives.empty()},
        {"learnt_from", completion->source},
        {"considered", considered}};
    std::cout << json.dump(2) << "\n";
    return 0;
  }
  if (!schedule::has_holes(script) && !script.directives.empty())
    std::cerr << "note: " << options.script << " has no hole; a line `...` leaves more to poly\n";
  if (options.output.empty()) std::cout << text;
  return 0;
}

}  // namespace

void add_complete(const Verb& app) {
  const Verb verb = app.verb("complete", "fill the holes of a schedule, under what its lines say");
  auto options = std::make_shared<CompleteOptions>();
  add_operator_options(verb, options->source);
  verb.existing("program").description(
      "a file of Program text, index notation in quotes, or an ONNX file");
  add_group_options(verb, options->model);
  verb.option("--script", options->script, "the schedule with holes").required();
  add_param_option(verb, options->params);
  verb.option("--group", options->group,
              "of a model: the group, where it is not the one that the header names");
  verb.option("--target", options->target, kTargetHelp).shows_default();
  verb.option("--threads", options->threads, "that loops are shared among; else this machine's")
      .within(1, 1024);
  verb.flag("--exact", options->exact, "keep the order of floating-point sums");
  verb.option("-o,--output", options->output, "a file for the finished script");
  verb.flag("--explain", options->explain, "the candidates, their prices, and why they lost");
  verb.flag("--json", options->json, "the finished script, or the refusal, as JSON");
  verb.example("polyte complete dense.program --script dense.sched --shape M=128,N=768,K=768");
  verb.calls([options] { return run_complete(*options); });
}

}  // namespace polyte::cli
