#include "codegen/target.h"

#include <algorithm>
#include <memory>

#include "codegen/cpu/backend.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"
#include "support/processors.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>

namespace polyte::codegen {
namespace {

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(TargetKind kind, const std::string& cpu) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      llvm_target(kind).createMCSubtargetInfo(backend_of(kind).triple, cpu, ""));
}

// At most three, of equally near ones the last, which is the newest of a family; none where none
// is near.
std::string near_names(const std::string& name, TargetKind kind) {
  const std::size_t farthest = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& cpu : known_cpus(kind))
    if (const std::size_t distance = edit_distance(name, cpu); distance <= farthest)
      ranked.emplace_back(distance, cpu);
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(ranked.size(), 3); ++i)
    names.push_back(ranked[i].second);
  return join_words(names);
}

// A hint for a name that is no processor: the other name of a family, a level for an instruction
// set, or the three nearest names.
std::string other_words(const std::string& name, TargetKind kind) {
  if (kind == TargetKind::X86 && (name == "arm64" || name == "aarch64" || name == "arm"))
    return "of AArch64 a processor is named: aarch64:neoverse-n1";
  if (name == "x86" || name == "x86_64" || name == "amd64" || name == "x64")
    return "expected a level, such as x86-64-v3";
  if (name.starts_with("avx512"))
    return "expected a processor or a level, such as x86-64-v4, which has AVX-512";
  if (name.starts_with("avx") || name.starts_with("sse"))
    return "expected a processor or a level, such as x86-64-v3, which has AVX2 and FMA";
  if (const Processor* const meant = processor_by_common_name(name))
    return "did you mean '" + (meant->kind == kind ? "" : to_string(meant->kind) + ":") +
           meant->name + "'?";
  if (const std::string near = near_names(name, kind); !near.empty()) return "near names: " + near;
  return std::string("expected native, or a processor by LLVM's name, such as ") +
         (kind == TargetKind::X86 ? "x86-64-v3, znver4 or sapphirerapids"
                                  : "neoverse-n1 or apple-m1");
}

}  // namespace

std::vector<std::string> known_cpus(TargetKind kind) {
  std::vector<std::string> names;
  for (const auto& cpu :
       subtarget(kind, backend_of(kind).generic_cpu)->getAllProcessorDescriptions())
    names.emplace_back(cpu.Key);
  std::ranges::sort(names);
  return names;
}

Target detect_host() {
  Target target{detect_machine()};
  Machine& machine = target.machine;
  machine.cpu = llvm::sys::getHostCPUName().str();
  machine.features.clear();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    machine.features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  }
  std::ranges::sort(machine.features);
  return target;
}

Target target_for_cpu(const std::string& name, TargetKind kind) {
  const auto names = known_cpus(kind);
  if (!std::ranges::binary_search(names, name)) {
    const Processor* const other = find_processor(name);
    throw UserError(
        ExitStatus::Usage,
        "unknown cpu '" + name + "'; " +
            (other ? "this is one of another kind: " + to_string(other->kind) + ":" + name
                   : other_words(name, kind)));
  }
  const auto info = subtarget(kind, name);
  if (kind == TargetKind::X86 && !info->checkFeatures("+64bit")) {
    throw UserError(ExitStatus::Usage, "cpu '" + name + "' has no 64-bit mode");
  }
  std::vector<std::string> features;
  for (const auto& feature : info->getEnabledProcessorFeatures())
    features.push_back(std::string("+") + feature.Key);
  std::ranges::sort(features);
  return {named_machine(kind, name, std::move(features)), kind};
}

}  // namespace polyte::codegen
