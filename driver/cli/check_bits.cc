// polyte check MODEL.onnx --bits: the groups of a model by every scheduler, against each other and
// against the interpreter.
#include <iostream>

#include "driver/cli/check_schedule.h"
#include "driver/judge/bit_check.h"

namespace polyte::cli {
namespace {

std::string bits_text(const driver::BitReport& report, bool good, bool on_gpu) {
  std::string text;
  for (const std::string& line : report.problems) text += "different: " + line + "\n";
  for (const driver::BitFallback& one : report.fallbacks)
    text += "fallback: '" + one.kernel + "', " + one.asked + ": " + one.reason + " (" + one.where +
            ")\n";
  for (const std::string& line : report.skipped) text += "not interpreted: " + line + "\n";
  return text + "second judge: the loops of " + std::to_string(report.executed) +
         " kernels executed, " + std::to_string(report.not_executed) + " too large\n" +
         std::to_string(report.kernels) + " kernels by naive, template and poly, " +
         (on_gpu ? "emulated in two orders: " : "with 1 and 2 threads: ") +
         (good ? "equal bits, no fallback" : "not as they should be") + "\n";
}

}  // namespace

BitsVerdict check_model_bits(const std::string& path, const ModelVerbOptions& model,
                             const std::string& target) {
  const codegen::Target machine = target_from(target);
  driver::BitCheck check(machine, {});
  check.model(frontend::import_onnx(path, import_options(model)).graph);
  const driver::BitReport& report = check.report();
  const bool good = report.problems.empty() && report.fallbacks.empty();
  nlohmann::ordered_json fallbacks = nlohmann::ordered_json::array();
  for (const driver::BitFallback& one : report.fallbacks)
    fallbacks.push_back({{"kernel", one.kernel},
                         {"scheduler_asked", one.asked},
                         {"scheduler_used", one.used},
                         {"declined", {{"reason", one.reason}, {"where", one.where}}}});
  return {{{"model", path},
           {"kernels", report.kernels},
           {"verdict", good ? "equal" : "different"},
           {"second_judge", {{"executed", report.executed}, {"too_large", report.not_executed}}},
           {"problems", report.problems},
           {"fallbacks", fallbacks},
           {"not_interpreted", report.skipped}},
          bits_text(report, good, machine.kind == TargetKind::Cuda),
          good ? ExitStatus::Success : ExitStatus::Refused};
}

int check_bits(const std::string& path, const ModelVerbOptions& model, const std::string& target,
               bool json) {
  const BitsVerdict verdict = check_model_bits(path, model, target);
  std::cout << (json ? verdict.json.dump(2) + "\n" : verdict.text);
  return static_cast<int>(verdict.status);
}

}  // namespace polyte::cli
