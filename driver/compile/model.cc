#include "driver/compile/model.h"

#include "codegen/cpu/link.h"
#include "driver/compile/parallel_jobs.h"

namespace polyte::driver {
namespace {

// An object per kernel, made in parallel and linked into one library. Results are kept by the
// kernels' numbers, so that nothing depends on which was ready first.
void generate_code(CompiledModel& model, const codegen::Target& target,
                   const ModelOptions& options) {
  const bool is_gpu = target.kind == TargetKind::Cuda;
  std::vector<std::string> objects(model.kernels.size());
  model.scratch.resize(model.kernels.size());
  std::vector<std::vector<std::string>> notes(model.kernels.size());
  model.device.resize(is_gpu ? model.kernels.size() : 0);
  run_jobs(jobs_of(options), model.kernels.size(), [&](std::size_t i) {
    codegen::ObjectCode object;
    if (is_gpu) {
      GpuObject made = compile_for_gpu(model.kernels[i].kernel, target, options.emulated);
      object = std::move(made.host);
      model.device[i] = std::move(made.device);
    } else {
      object = codegen::compile({&model.kernels[i].kernel, 1}, target);
    }
    objects[i] = std::move(object.bytes);
    model.scratch[i] = object.kernels.at(0).scratch;
    notes[i] = object.kernels[0].notes;
  });
  for (const auto& of_kernel : notes)
    model.notes.insert(model.notes.end(), of_kernel.begin(), of_kernel.end());
  if (!objects.empty()) model.library = codegen::link(objects);
}

}  // namespace

int jobs_of(const ModelOptions& options) {
  return options.jobs > 0 ? options.jobs : default_jobs();
}

CompiledModel compile_model(ScheduledModel scheduled, const codegen::Target& target,
                            const ModelOptions& options) {
  CompiledModel model{std::move(scheduled)};
  StageLog(model.times).run("code", [&] { generate_code(model, target, options); });
  return model;
}

}  // namespace polyte::driver
