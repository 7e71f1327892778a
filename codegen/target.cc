#include "codegen/target.h"

#include <algorithm>
#include <memory>

#include "codegen/llvm_setup.h"
#include "support/error.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>

namespace polyte::codegen {
namespace {

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string& cpu) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(llvm_target().createMCSubtargetInfo(kTriple, cpu, ""));
}

std::string near_names(const std::string& name) {
  std::vector<std::pair<unsigned, std::string>> ranked;
  for (const std::string& cpu : known_cpus()) ranked.emplace_back(llvm::StringRef(cpu).edit_distance(name), cpu);
  std::sort(ranked.begin(), ranked.end());
  std::string text;
  for (std::size_t i = 0; i < ranked.size() && i < 3; ++i) text += (i > 0 ? ", " : "") + ranked[i].second;
  return text;
}

// What the instruction set tells: vector width, registers, FMA.
void apply_instruction_set(Machine& machine) {
  const bool avx512 = machine.has("avx512f");
  machine.vector_bits = avx512 ? 512 : machine.has("avx") ? 256 : 128;
  machine.vector_registers = avx512 ? 32 : 16;
  machine.has_fma = machine.has("fma") || avx512;
}

}  // namespace

std::vector<std::string> known_cpus() {
  std::vector<std::string> names;
  for (const auto& cpu : subtarget("x86-64")->getAllProcessorDescriptions()) names.emplace_back(cpu.Key);
  std::sort(names.begin(), names.end());
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
  std::sort(machine.features.begin(), machine.features.end());
  return target;
}

Target target_for_cpu(const std::string& name) {
  const auto names = known_cpus();
  if (!std::binary_search(names.begin(), names.end(), name)) {
    throw UserError(ExitStatus::Usage, "unknown cpu '" + name + "'; near names: " + near_names(name));
  }
  const auto info = subtarget(name);
  if (!info->checkFeatures("+64bit")) {
    throw UserError(ExitStatus::Usage, "cpu '" + name + "' has no 64-bit mode");
  }
  Target target;
  Machine& machine = target.machine;
  machine.cpu = name;
  machine.model_name = name;
  for (const auto& feature : info->getEnabledProcessorFeatures()) {
    machine.features.push_back(std::string("+") + feature.Key);
  }
  std::sort(machine.features.begin(), machine.features.end());
  apply_instruction_set(machine);
  machine.l1 = {32 * 1024, 8, 64};
  machine.l2 = {1024 * 1024, 8, 64};
  machine.l3 = {2 * 1024 * 1024, 16, 64};
  machine.assumed = {"cores", "fma_latency", "fma_per_cycle", "l1", "l2", "l3"};
  return target;
}

}  // namespace polyte::codegen
