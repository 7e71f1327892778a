// polyte check: is this schedule legal for this Program? Exit status 0, 1 (with the counterexample) or 8 (unknown).
#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/execution_check.h"
#include "schedule/language/replay.h"

namespace polyte::cli {
namespace {

struct CheckOptions {
  OperatorOptions source;
  std::string script;
  std::string target = "cpu:native";
  bool json = false, by_execution = false;
};

std::string verdict_of(const schedule::Refusal& refusal) {
  const bool undecided = schedule::exit_status(refusal.kind) == ExitStatus::Unknown;
  return undecided ? "unknown" : "illegal";
}

nlohmann::json to_json(const schedule::Refusal& refusal) {
  nlohmann::json json{{"headline", refusal.headline}, {"directive", refusal.directive}, {"line", refusal.line}};
  json["advice"] = refusal.advice;
  for (const schedule::Counterexample& c : refusal.counterexamples) {
    json["counterexamples"].push_back({{"dependence", c.dependence},
                                       {"reference", c.reference},
                                       {"scheduled", c.scheduled},
                                       {"watch", c.watch},
                                       {"sizes", c.sizes}});
  }
  return json;
}

int report(const CheckOptions& options, const std::string& verdict, const schedule::Refusal* refusal) {
  if (options.json) {
    nlohmann::json json{{"verdict", verdict}};
    if (refusal) json["refusal"] = to_json(*refusal);
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << "verdict: " << verdict << "\n";
    if (refusal) std::cerr << schedule::to_string(*refusal, options.script, options.source.source);
  }
  return refusal ? static_cast<int>(schedule::exit_status(refusal->kind)) : 0;
}

int run_check(const CheckOptions& options) {
  const auto program = load_symbolic_program(options.source);
  const schedule::Script script = schedule::parse_script(read_text_file(options.script), options.script);
  const Machine machine = target_from(options.target).machine;
  schedule::ReplayOptions replay_options;
  if (options.by_execution) replay_options.proof = schedule::ProofLevel::Off;
  const auto state = schedule::replay(program, script, machine, replay_options);
  if (!state) return report(options, verdict_of(state.error()), &state.error());
  if (options.by_execution) {
    const std::string difference = driver::difference_by_execution(*state, machine);
    if (!difference.empty()) {
      if (options.json) {
        std::cout << nlohmann::json{{"verdict", "illegal"}, {"difference", difference}}.dump(2) << "\n";
      } else {
        std::cout << "verdict: illegal\n";
        std::cerr << difference << "\n";
      }
      return static_cast<int>(ExitStatus::Refused);
    }
  }
  return report(options, "legal", nullptr);
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("check", "is this schedule legal for this Program?");
  auto options = std::make_shared<CheckOptions>();
  add_operator_options(*verb, options->source);
  verb->add_option("--script", options->script, "the schedule")->required();
  verb->add_option("--target", options->target, "cpu:native or an LLVM CPU name")->capture_default_str();
  verb->add_flag("--by-execution", options->by_execution, "decide by interpreting the loops (sizes must be bound)");
  verb->add_flag("--json", options->json, "the verdict as JSON");
  verb->footer("example: polyte check jacobi.program --script jacobi.sched");
  verb->callback([options, &status] { status = run_check(*options); });
}

}  // namespace polyte::cli
