#include "driver/cli/scheduling_report.h"

#include <algorithm>

#include "driver/package/scheduling.h"
#include "ir/loop_program_text.h"
#include "runtime/artifact.h"

namespace polyte::cli {
namespace {

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// "poly", or "poly+naive" in order of appearance; each text once.
template <class Get>
std::string of_groups(const Scheduling& scheduling, const char* between, Get get) {
  std::vector<std::string> seen;
  std::string text;
  for (const GroupScheduling& one : scheduling) {
    const std::string& each = get(one);
    if (each.empty() || std::ranges::find(seen, each) != seen.end()) continue;
    seen.push_back(each);
    text += (text.empty() ? "" : between) + each;
  }
  return text;
}

}  // namespace

Scheduling scheduling_of(const driver::BuiltKernel& kernel) {
  return {{kernel.program->name, driver::scheduling_of(kernel)}};
}

Scheduling scheduling_of(std::span<const runtime::StepSpec> steps) {
  Scheduling scheduling;
  for (const runtime::StepSpec& step : steps)
    if (!step.scheduling.asked.empty()) scheduling.push_back({step.group, step.scheduling});
  return scheduling;
}

nlohmann::ordered_json scheduling_json(const Scheduling& scheduling,
                                       const std::string& identical_to) {
  Scheduling declined = scheduling;
  std::erase_if(declined, [](const GroupScheduling& one) { return !one.how.is_declined(); });
  nlohmann::ordered_json json;
  json["scheduler_asked"] = text_or_null(
      of_groups(scheduling, "+", [](const GroupScheduling& one) { return one.how.asked; }));
  json["scheduler_used"] = text_or_null(
      of_groups(scheduling, "+", [](const GroupScheduling& one) { return one.how.used; }));
  json["declined"] = nullptr;
  if (!declined.empty())
    json["declined"] = {
        {"reason",
         of_groups(declined, "; ", [](const GroupScheduling& one) { return one.how.reason; })},
        {"where",
         of_groups(declined, "; ", [](const GroupScheduling& one) { return one.how.where; })}};
  json["identical_to"] = text_or_null(identical_to);
  // A single kernel's reason is in `declined` already.
  if (scheduling.size() < 2 || declined.empty()) return json;
  for (const GroupScheduling& one : declined)
    json["groups_declined"].push_back(
        {{"group", one.group}, {"reason", one.how.reason}, {"where", one.how.where}});
  return json;
}

std::string scheduler_title(const std::string& asked, const Scheduling& scheduling) {
  const auto declined = std::ranges::count_if(
      scheduling, [](const GroupScheduling& one) { return one.how.is_declined(); });
  if (declined == 0) return asked;
  if (static_cast<std::size_t>(declined) == scheduling.size())
    return asked + " (declined: reference order)";
  return asked + " (" + std::to_string(declined) + " of " + std::to_string(scheduling.size()) +
         " kernels declined: reference order)";
}

// Two schedulers that made the same loops are one contender, whatever their scripts say.
std::string loops_digest(std::span<const driver::BuiltKernel> kernels) {
  std::string text;
  for (const driver::BuiltKernel& kernel : kernels) text += ir::print(kernel.kernel.program);
  return runtime::digest_of(std::as_bytes(std::span(text)));
}

}  // namespace polyte::cli
