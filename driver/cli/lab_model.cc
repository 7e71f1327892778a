// Models as rows of an experiment: compiled as `polyte run` does, run by a session on the lab's
// tensors, of a GPU on copies there.
#include <algorithm>
#include <chrono>

#include "driver/cli/lab_verbs.h"
#include "driver/cli/model_options.h"
#include "driver/cli/scheduling_report.h"
#include "driver/lab/device_contender.h"
#include "runtime/session.h"

namespace polyte::cli {
namespace {

class ModelContender : public lab::Contender {
 public:
  ModelContender(std::shared_ptr<const runtime::Artifact> artifact, int threads)
      : session_(std::move(artifact), runtime::SessionOptions{threads}) {}

  void add_set(std::span<runtime::Tensor> tensors) override {
    Set set;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      (i < session_.inputs().size() ? set.inputs : set.outputs).push_back(tensors[i].view());
    sets_.push_back(std::move(set));
  }
  void clear_sets() override { sets_.clear(); }
  void run(std::size_t set) override { session_.run(sets_[set].inputs, sets_[set].outputs); }

 private:
  struct Set {
    std::vector<runtime::TensorView> inputs, outputs;
  };
  runtime::Session session_;
  std::vector<Set> sets_;
};

// The same for each arm: inputs, then outputs.
lab::Interface interface_of(const runtime::ArtifactManifest& manifest) {
  lab::Interface interface;
  for (const runtime::TensorSpec& spec : manifest.inputs)
    interface.push_back({spec.name, spec.dtype, spec.shape, ir::Role::In});
  for (const runtime::TensorSpec& spec : manifest.outputs)
    interface.push_back({spec.name, spec.dtype, spec.shape, ir::Role::Out});
  return interface;
}

}  // namespace

lab::Prepared lab_model(const lab::ModelArm& arm) {
  ModelVerbOptions options;
  options.schedule.scheduler = arm.scheduler;
  options.schedule.exact = arm.exact;
  options.target = arm.target;
  options.schedule_threads = arm.threads;
  options.emulate = arm.emulate;
  if (arm.device) options.cuda.device = arm.device->device()->number();
  lab::Prepared prepared;
  const auto start = std::chrono::steady_clock::now();
  const LoadedModel model = load_model(arm.path, options);
  prepared.facts["compile_ms"]["all"] = milliseconds_since(start);
  prepared.facts["loops_digest"] = model.loops;
  const Scheduling scheduling = scheduling_of(model.artifact->manifest().steps);
  // An arm that declined every kernel is the reference order under another name, and is not timed
  // as that scheduler; one that declined some is, and says so.
  const auto declined = static_cast<std::size_t>(std::ranges::count_if(
      scheduling, [](const GroupScheduling& one) { return one.how.is_declined(); }));
  if (declined > 0) prepared.reason = scheduler_title(arm.scheduler, scheduling);
  if (declined > 0 && declined == scheduling.size()) {
    prepared.status = "declined";
    return prepared;
  }
  const runtime::ArtifactManifest& manifest = model.artifact->manifest();
  if (!manifest.symbols.empty())
    throw UserError(ExitStatus::Unsupported,
                    arm.path + ": leaves sizes open; the lab takes models whose shapes are fixed");
  prepared.interface = interface_of(manifest);
  if (arm.device)
    prepared.contender = lab::make_device_contender(
        prepared.interface, [artifact = model.artifact](auto) { return artifact; }, arm.device);
  else
    prepared.contender = std::make_unique<ModelContender>(model.artifact, arm.threads);
  return prepared;
}

}  // namespace polyte::cli
