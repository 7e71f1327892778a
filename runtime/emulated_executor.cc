// Runs of a GPU's code on this processor, by the emulator: for looking, not for speed. Everything
// that a run is given or has for itself is memory of a device of its own.
#include <cstring>
#include <mutex>

#include "runtime/arguments.h"
#include "runtime/executor.h"
#include "runtime/step_list.h"
#include "support/target.h"

namespace polyte::runtime {
namespace {

class EmulatedExecutor final : public Executor {
 public:
  EmulatedExecutor(std::shared_ptr<const Artifact> artifact, const EmulatorOptions& options)
      : artifact_(checked(std::move(artifact))),
        options_(options),
        list_(*artifact_, 1, StepCode::Emulated),
        arguments_(artifact_->manifest()) {}

  int threads() const override { return 1; }
  void run(Views inputs, Views outputs) override { profile(inputs, outputs); }

  // One run at a time: what is counted is of the last run. Each run has an emulator of its own,
  // so nothing that an earlier one wrote counts as defined.
  RunProfile profile(Views inputs, Views outputs) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::int64_t> sizes(artifact_->manifest().symbols.size());
    arguments_.check(inputs, outputs, sizes);
    Emulator emulator(options_);
    Memory memory = place(emulator, inputs, outputs, sizes);
    Recorder recorder(pool_, list_.steps.size());
    for (std::size_t i = 0; i < list_.steps.size(); ++i) {
      recorder.begin_step();
      execute(i, memory, sizes, emulator);
      recorder.end_step();
    }
    // A copy of what was never written is no fault while it moves about; in an output it is
    // one.
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (byte_count(artifact_->manifest().outputs[i]).at(sizes) > 0)
        emulator.expect_no_undefined_copy(outputs[i].data);
    if (!emulator.faults().empty())
      throw InternalError("the emulator found a fault in an output: " + emulator.faults().front());
    counts_ = emulator.counts();
    return recorder.finish();
  }

  std::vector<LaunchCounts> launch_counts() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
  }

 private:
  struct Memory {
    AlignedBuffer arena, scratch;
    std::vector<const void*> pointers;
  };

  std::shared_ptr<const Artifact> artifact_;
  EmulatorOptions options_;
  StepList list_;
  ArgumentChecker arguments_;
  ThreadPool pool_{1};
  mutable std::mutex mutex_;
  std::vector<LaunchCounts> counts_;  // guarded by mutex_: of the last run

  static std::shared_ptr<const Artifact> checked(std::shared_ptr<const Artifact> artifact) {
    const ArtifactManifest& manifest = artifact->manifest();
    if (manifest.arch != to_string(TargetKind::Cuda))
      throw UserError(ExitStatus::Artifact, "artifact '" + artifact->source() + "': is built for " +
                                                manifest.arch +
                                                ", the emulator takes code for a GPU");
    check_abi(manifest, artifact->source());
    check_features(manifest, detect_machine().features, artifact->source());
    return artifact;
  }

  Memory place(Emulator& emulator, Views inputs, Views outputs,
               const std::vector<std::int64_t>& sizes) const {
    using Defined = Emulator::Defined;
    const ArtifactManifest& manifest = artifact_->manifest();
    // Regions of no bytes would be found for nothing, and empty tensors may have null.
    const auto add = [&](const std::string& name, const void* base, std::int64_t bytes,
                         Defined defined) {
      if (bytes > 0) emulator.add_memory(name, const_cast<void*>(base), bytes, defined);  // NOLINT
    };
    Memory memory{
        AlignedBuffer(arena_bytes(manifest, sizes)), AlignedBuffer(list_.scratch_bytes), {}};
    add("the arena", memory.arena.data(), memory.arena.bytes(), Defined::No);
    add("the workspace", memory.scratch.data(), memory.scratch.bytes(), Defined::No);
    for (const Bytes constants : artifact_->constants())
      add("constants", constants.data(), static_cast<std::int64_t>(constants.size()), Defined::Yes);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      add(manifest.inputs[i].name, inputs[i].data, byte_count(manifest.inputs[i]).at(sizes),
          Defined::Yes);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      add(manifest.outputs[i].name, outputs[i].data, byte_count(manifest.outputs[i]).at(sizes),
          Defined::No);
    memory.pointers.assign(list_.pointers, nullptr);
    for (const ConstantSlot& constant : list_.constants)
      memory.pointers[constant.slot] =
          artifact_->constants()[constant.member].data() + constant.offset;
    for (const auto& [slot, offset] : list_.arena)
      memory.pointers[slot] = memory.arena.data() + offset * scale_of(sizes);
    for (const std::size_t slot : list_.sizes) memory.pointers[slot] = sizes.data();
    for (const ExternalSlot& external : list_.externals) {
      const TensorView& view = (external.output ? outputs : inputs)[external.index];
      memory.pointers[external.slot] = static_cast<const std::byte*>(view.data) + external.offset;
    }
    return memory;
  }

  void execute(std::size_t number, const Memory& memory, const std::vector<std::int64_t>& sizes,
               Emulator& emulator) const {
    const Step& step = list_.steps[number];
    const StepSpec& spec = artifact_->manifest().steps[number];
    const void* const* buffers = memory.pointers.data() + step.first_pointer;
    if (step.kernel == nullptr) {
      const std::int64_t bytes = step.copy_bytes.at(sizes);
      if (bytes == 0) return;
      std::memcpy(const_cast<void*>(buffers[1]), buffers[0],  // NOLINT
                  static_cast<std::size_t>(bytes));
      // The emulated kernels did not write this memory, so the emulator has to be shown that it
      // is defined.
      return emulator.define(buffers[1], bytes);
    }
    const polyte_host host = emulator.host();
    const int code = step.kernel(buffers, memory.scratch.data(), &host);
    if (!emulator.faults().empty())
      throw InternalError("the emulator found a fault in group '" + spec.group +
                          "': " + emulator.faults().front());
    if (code != 0) refuse_run(spec, code);
    if (emulator.status() != 0) refuse_run(spec, emulator.status());
  }
};

}  // namespace

std::unique_ptr<Executor> make_emulated_executor(std::shared_ptr<const Artifact> artifact,
                                                 const EmulatorOptions& options) {
  return std::make_unique<EmulatedExecutor>(std::move(artifact), options);
}

}  // namespace polyte::runtime
