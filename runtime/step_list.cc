#include "runtime/step_list.h"

#include <algorithm>

#include "runtime/kernel_interface.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::runtime {

StepList::StepList(const Artifact& artifact, int workers, StepCode code) {
  load(artifact, code);
  for (const StepSpec& step : artifact.manifest().steps) add_step(artifact, step, workers);
}

// A processor's kernels are one shared object; the emulator's are one per module.
void StepList::load(const Artifact& artifact, StepCode code) {
  if (code == StepCode::Processors) {
    if (!artifact.kernels().empty()) libraries_.emplace_back(artifact.kernels(), "polyte-kernels");
    return;
  }
  for (const DeviceModule& module : artifact.manifest().device) {
    if (std::ranges::find(module.architectures, kEmulated) == module.architectures.end())
      throw UserError(ExitStatus::Artifact,
                      "artifact '" + artifact.source() +
                          "': has no code for the emulator; polyte compile --emulate "
                          "adds it");
    libraries_.emplace_back(artifact.device_code(module.name, kEmulated), module.name);
  }
}

const SharedLibrary& StepList::library_with(const Artifact& artifact,
                                            const std::string& kernel) const {
  if (libraries_.empty())
    throw UserError(ExitStatus::Artifact,
                    "artifact '" + artifact.source() + "': has no kernels.so");
  // Which module has a kernel is nowhere written: each library is asked.
  for (const SharedLibrary& library : libraries_)
    if (library.find(kernel) != nullptr) return library;
  return libraries_.front();  // says that it has none
}

void StepList::add_step(const Artifact& artifact, const StepSpec& spec, int workers) {
  const ArtifactManifest& manifest = artifact.manifest();
  Step step;
  step.first_pointer = pointers;
  for (const std::int64_t number : spec.buffers)
    add_pointer(manifest.buffers[static_cast<std::size_t>(number)]);
  if (spec.kernel.empty()) {
    step.copy_bytes =
        copied_bytes(manifest, manifest.buffers[static_cast<std::size_t>(spec.buffers.front())]);
  } else {
    const SharedLibrary& library = library_with(artifact, spec.kernel);
    step.kernel = library.kernel(spec.kernel);
    // What the compiler stored beside the kernel says what its code will touch; the manifest is
    // text that anyone may have changed.
    const void* interface = library.find(spec.kernel + POLYTE_INTERFACE_SUFFIX);
    check_step(manifest, spec, static_cast<const std::int64_t*>(interface), artifact.source());
  }
  step.parallel = spec.parallel;
  step.parallel_from = spec.parallel_from;
  // One scratch serves all steps, since they run one after another: it is as large as the
  // largest needs.
  const std::int64_t slices =
      checked_mul(spec.parallel ? workers : 1, spec.scratch_bytes_per_worker);
  scratch_bytes = std::max(scratch_bytes, checked_add(spec.scratch_shared_bytes, slices));
  steps.push_back(std::move(step));
}

void StepList::add_pointer(const BufferSpec& buffer) {
  const std::size_t slot = pointers++;
  const auto index = static_cast<std::size_t>(buffer.index);
  switch (buffer.place) {
    case BufferPlace::Arena:
      return arena.push_back({slot, buffer.offset});
    case BufferPlace::Constant:
      return constants.push_back({slot, index, buffer.offset});
    case BufferPlace::Input:
      return externals.push_back({slot, false, index, buffer.offset});
    case BufferPlace::Output:
      return externals.push_back({slot, true, index, buffer.offset});
    case BufferPlace::Sizes:
      return sizes.push_back(slot);
  }
}

std::int64_t arena_bytes(const ArtifactManifest& manifest, std::span<const std::int64_t> sizes) {
  const std::int64_t scale = scale_of(sizes);
  // By division: the product could overflow. The scale is at least 1.
  if (manifest.arena_bytes <= kMostArenaBytes / scale) return manifest.arena_bytes * scale;
  throw UserError(ExitStatus::ResourceLimit, "an arena of " + std::to_string(manifest.arena_bytes) +
                                                 " * " + std::to_string(scale) + " bytes, where " +
                                                 sizes_text(manifest.symbols, sizes) +
                                                 ", is above the limit of " +
                                                 std::to_string(kMostArenaBytes));
}

void refuse_run(const StepSpec& step, int code) {
  const std::string reason = code == POLYTE_OUT_OF_BOUNDS
                                 ? "read a subscript that is outside its dimension"
                                 : "refused its input with code " + std::to_string(code);
  throw UserError(ExitStatus::InvalidInput,
                  "kernel '" + step.kernel + "' of group '" + step.group + "' " + reason);
}

}  // namespace polyte::runtime
