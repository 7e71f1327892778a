// polyte check MODEL.onnx --bits: the groups of a model by every scheduler, against each other and
// against the interpreter.
#include <nlohmann/json.hpp>

#include <iostream>

#include "driver/cli/model_options.h"
#include "driver/judge/bit_check.h"

namespace polyte::cli {

int check_bits(const std::string& path, const ModelVerbOptions& model,
               const std::string& target_name, bool json) {
  const codegen::Target target = target_from(target_name);
  driver::BitCheck check(target, {});
  check.model(frontend::import_onnx(path, import_options(model)).graph);
  const driver::BitReport& report = check.report();
  const bool good = report.problems.empty() && report.fallbacks.empty();
  if (json) {
    nlohmann::ordered_json fallbacks = nlohmann::ordered_json::array();
    for (const driver::BitFallback& one : report.fallbacks)
      fallbacks.push_back({{"kernel", one.kernel},
                           {"scheduler_asked", one.asked},
                           {"scheduler_used", one.used},
                           {"declined", {{"reason", one.reason}, {"where", one.where}}}});
    std::cout << nlohmann::ordered_json{{"model", path},
                                        {"kernels", report.kernels},
                                        {"verdict", good ? "equal" : "different"},
                                        {"second_judge",
                                         {{"executed", report.executed},
                                          {"too_large", report.not_executed}}},
                                        {"problems", report.problems},
                                        {"fallbacks", fallbacks},
                                        {"not_interpreted", report.skipped}}
                     .dump(2)
              << "\n";
    return good ? 0 : static_cast<int>(ExitStatus::Refused);
  }
  for (const std::string& line : report.problems) std::cout << "different: " << line << "\n";
  for (const driver::BitFallback& one : report.fallbacks)
    std::cout << "fallback: '" << one.kernel << "', " << one.asked << ": " << one.reason << " ("
              << one.where << ")\n";
  for (const std::string& line : report.skipped) std::cout << "not interpreted: " << line << "\n";
  std::cout << "second judge: the loops of " << report.executed << " kernels executed, "
            << report.not_executed << " too large\n";
  std::cout << report.kernels << " kernels by naive, template and poly, "
            << (target.kind == TargetKind::Cuda ? "emulated in two orders: "
                                                : "with 1 and 2 threads: ")
            << (good ? "equal bits, no fallback" : "not as they should be") << "\n";
  return good ? 0 : static_cast<int>(ExitStatus::Refused);
}

}  // namespace polyte::cli
