#include "driver/compile/describe_target.h"

#include <algorithm>

#include "driver/compile/machine_file.h"
#include "runtime/cuda_machine.h"
#include "support/error.h"
#include "support/features.h"
#include "support/gpu_machines.h"
#include "support/nearest_word.h"

namespace polyte::driver {
namespace {

std::string known_gpus() {
  std::string text;
  for (const std::string& name : gpu_names()) text += "cuda:" + name + ", ";
  return text +
         "cuda:sm_90 for all of a compute capability, cuda:native, or cuda:FILE.json (polyte "
         "doctor " +
         "--machine-file)";
}

std::string near_gpu(const std::string& text) {
  std::vector<std::string> targets = {"cuda:native"};
  for (const std::string& name : gpu_names()) targets.push_back("cuda:" + name);
  const std::string name = text.substr(text.find(':') + 1);
  return did_you_mean(name, gpu_names()).empty() ? "" : did_you_mean("cuda:" + name, targets);
}

codegen::Target gpu_target(const std::string& text, const runtime::CudaOptions& cuda) {
  const std::string name = text.starts_with("cuda:") ? text.substr(5) : "";
  if (name.ends_with(".json")) return {machine_from_file(name), TargetKind::Cuda};
  if (name == "native")
    return {runtime::machine_of(*runtime::CudaDevice::open(cuda)), TargetKind::Cuda};
  const std::optional<Machine> machine = gpu_machine(name);
  if (!machine)
    throw UserError(ExitStatus::Usage, "--target " + text + ": no GPU of this name, expected " +
                                           known_gpus() + near_gpu(text));
  return {*machine, TargetKind::Cuda};
}

// Names of GPUs that there are no targets of come here as well, and are refused with those
// that there are.
bool is_gpu(const std::string& text) {
  const char* const words[] = {"cuda", "gpu", "sm_", "rocm", "metal", "opencl"};
  return std::ranges::any_of(words, [&](const char* word) { return text.starts_with(word); });
}

codegen::Target target_of_kind(const std::string& name, TargetKind kind) {
  if (name != "native") return codegen::target_for_cpu(name, kind);
  if (kind != kNativeKind)
    throw UserError(ExitStatus::Usage, "--target " + to_string(kind) +
                                           ":native: this processor is " + to_string(kNativeKind) +
                                           ", expected a name");
  return codegen::detect_host();
}

}  // namespace

codegen::Target target_named(const std::string& text, const runtime::CudaOptions& cuda) {
  if (is_gpu(text)) return gpu_target(text, cuda);
  for (const TargetKind kind : {TargetKind::X86, TargetKind::AArch64})
    if (const std::string prefix = to_string(kind) + ":"; text.starts_with(prefix))
      return target_of_kind(text.substr(prefix.size()), kind);
  return target_of_kind(text.starts_with("cpu:") ? text.substr(4) : text, kNativeKind);
}

// A named processor's features are instructions and what is fast on it; only instructions that the
// runtime can ask the processor for are needs.
std::vector<std::string> needed_features(const codegen::Target& target) {
  std::vector<std::string> needed;
  for (const std::string& feature : target.machine.features)
    if (feature.starts_with('+') && is_checkable(target.kind, feature.substr(1)))
      needed.push_back(feature);
  return needed;
}

void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest) {
  manifest.arch = to_string(target.kind);
  manifest.cpu = target.machine.cpu;
  if (target.kind != TargetKind::Cuda) manifest.features = needed_features(target);
}

}  // namespace polyte::driver
