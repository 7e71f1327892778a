// inspect: an artifact's code for a GPU, and what the assembler said of it.
#include <nlohmann/json.hpp>

#include "driver/cli/reports.h"
#include "support/error.h"

namespace polyte::cli {
namespace {

// The report is the compiler's own text, but of a file: what is not as expected there is not shown.
nlohmann::json report_of(const runtime::Artifact& artifact) {
  const nlohmann::json report = nlohmann::json::parse(artifact.report(), nullptr, false);
  return report.is_object() ? report : nlohmann::json::object();
}

std::string number_text(const nlohmann::json& kernel, const char* key, const char* what) {
  const auto found = kernel.find(key);
  if (found == kernel.end() || !found->is_number_integer()) return "";
  return ", " + std::to_string(found->get<std::int64_t>()) + " " + what;
}

const nlohmann::json* find_by(const nlohmann::json& report, const char* list, const char* key,
                              const std::string& name) {
  const auto all = report.find(list);
  if (all == report.end() || !all->is_array()) return nullptr;
  for (const nlohmann::json& one : *all)
    if (one.is_object() && one.value(key, nlohmann::json()) == nlohmann::json(name)) return &one;
  return nullptr;
}

}  // namespace

std::string device_text(const runtime::Artifact& artifact) {
  const nlohmann::json report = report_of(artifact);
  std::string text;
  for (const runtime::DeviceModule& module : artifact.manifest().device) {
    text += "  device code " + module.name + " for";
    for (const std::string& architecture : module.architectures)
      text += (&architecture == module.architectures.data() ? " " : ", ") + architecture;
    text += "\n";
    const nlohmann::json* const said = find_by(report, "device", "module", module.name);
    for (const runtime::DeviceKernel& kernel : module.kernels) {
      text += "    " + kernel.name + ": " + std::to_string(kernel.threads) +
              " threads per block, " + std::to_string(kernel.shared_bytes) +
              " bytes of shared memory";
      if (const nlohmann::json* found =
              said != nullptr ? find_by(*said, "kernels", "name", kernel.name) : nullptr)
        text += number_text(*found, "registers", "registers") +
                number_text(*found, "spill_store_bytes", "bytes spilled") +
                number_text(*found, "stack_bytes", "bytes of stack");
      text += "\n";
    }
    if (said == nullptr || !said->contains("messages") || !(*said)["messages"].is_array()) continue;
    for (const nlohmann::json& message : (*said)["messages"])
      if (message.is_string()) text += "    " + message.get<std::string>() + "\n";
  }
  return text;
}

}  // namespace polyte::cli
