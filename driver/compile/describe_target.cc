#include "driver/compile/describe_target.h"

#include "support/error.h"
#include "support/features.h"

namespace polyte::driver {
namespace {

void refuse_gpu(const std::string& text) {
  for (const char* other : {"cuda", "gpu", "sm_", "rocm", "metal", "opencl"})
    if (text.starts_with(other))
      throw UserError(ExitStatus::Usage, "--target " + text +
                                             ": there is no GPU target yet, expected cpu:native or a " +
                                             "processor by LLVM's name, cpu:skylake-avx512 or aarch64:neoverse-n1");
}

codegen::Target target_of_kind(const std::string& name, TargetKind kind) {
  if (name != "native") return codegen::target_for_cpu(name, kind);
  if (kind != kNativeKind)
    throw UserError(ExitStatus::Usage, "--target " + to_string(kind) + ":native: this processor is " +
                                           to_string(kNativeKind) + ", expected a name");
  return codegen::detect_host();
}

}  // namespace

codegen::Target target_named(const std::string& text) {
  refuse_gpu(text);
  for (const TargetKind kind : {TargetKind::X86, TargetKind::AArch64})
    if (const std::string prefix = to_string(kind) + ":"; text.starts_with(prefix))
      return target_of_kind(text.substr(prefix.size()), kind);
  return target_of_kind(text.starts_with("cpu:") ? text.substr(4) : text, kNativeKind);
}

// A named processor's features are instructions and what is fast on it; only instructions that the runtime can ask the
// processor for are needs.
void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest) {
  manifest.arch = to_string(target.kind);
  manifest.cpu = target.machine.cpu;
  for (const std::string& feature : target.machine.features)
    if (feature.starts_with('+') && is_checkable(target.kind, feature.substr(1))) manifest.features.push_back(feature);
}

}  // namespace polyte::driver
