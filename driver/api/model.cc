#include "driver/compile/model.h"

#include "driver/api/guard.h"
#include "driver/api/requests.h"
#include "driver/compile/import_network.h"
#include "driver/package/package_model.h"
#include "ir/loop_program_text.h"
#include "ir/program_text.h"

namespace polyte::api {
namespace {

ModelReport report_of(const driver::ScheduledModel& model, std::vector<std::string> notes) {
  ModelReport report{{}, std::move(notes)};
  report.notes.insert(report.notes.end(), model.notes.begin(), model.notes.end());
  for (const driver::GroupPlan& group : model.groups) {
    // A view has no kernel, so there is nothing to report of it.
    if (group.view) continue;
    const driver::BuiltKernel& kernel = model.kernel_of(group);
    report.groups.push_back({group.name, ir::print(group.expansion.program),
                             schedule::print(kernel.script), ir::print(kernel.kernel.program),
                             scheduling_of(kernel)});
  }
  return report;
}

}  // namespace

driver::ModelOptions driver_options(const ModelOptions& options) {
  driver::ModelOptions result;
  result.scheduler = scheduler_of(options.scheduler);
  for (const auto& [group, scheduler] : options.groups)
    result.group_schedulers[group] = scheduler_of(scheduler);
  result.strict = options.strict;
  result.exact = options.exact;
  result.templates = schedule::load_templates(options.templates);
  result.optimize = result.fuse = options.optimize;
  // Texts have no file names: messages name them by their place, "script 1".
  for (std::size_t i = 0; i < options.scripts.size(); ++i) {
    const std::string origin = "script " + std::to_string(i + 1);
    result.scripts.push_back({origin, schedule::parse_script(options.scripts[i], origin)});
  }
  return result;
}

Scheduling scheduling_of(const driver::BuiltKernel& kernel) {
  Scheduling how{to_string(kernel.asked), to_string(kernel.used())};
  if (kernel.declined) how.declined = Declined{kernel.declined->reason, kernel.declined->where};
  return how;
}

driver::Scheduler scheduler_of(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::Naive:
      return driver::Scheduler::Naive;
    case Scheduler::Isl:
      return driver::Scheduler::Isl;
    case Scheduler::Poly:
      return driver::Scheduler::Poly;
    case Scheduler::Template:
      return driver::Scheduler::Template;
  }
  // A number that is no enumerator comes from a caller's cast; it is an error of use, not a
  // fault of ours.
  throw UserError(ExitStatus::Usage,
                  "no such scheduler: " + std::to_string(static_cast<int>(scheduler)));
}

// Without an artifact nothing after the schedules is done: the report is of scripts and loops.
Outcome<ModelReport> compile_model(const std::string& onnx, const std::string& artifact,
                                   const ModelOptions& options) {
  return guarded([&] {
    const codegen::Target target = driver::target_named(options.target, cuda_options(options.gpu));
    const driver::ModelOptions driver_opts = driver_options(options);
    frontend::ImportOptions import_options;
    import_options.shapes.insert(options.shapes.begin(), options.shapes.end());
    std::vector<driver::OpenSymbol> open;
    for (const auto& [name, size] : options.open)
      open.push_back({name, size.least, size.typical, size.most});
    driver::ImportedNetwork imported = driver::import_network(onnx, import_options, open);
    if (artifact.empty())
      return report_of(driver::schedule_model(std::move(imported.network), target, driver_opts),
                       std::move(imported.notes));
    const driver::PackagedModel model =
        driver::package_model(std::move(imported.network), target, driver_opts);
    runtime::write_artifact(artifact, model.parts);
    return report_of(model, std::move(imported.notes));
  });
}

}  // namespace polyte::api
