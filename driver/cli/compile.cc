// polyte compile: a model to an artifact, or to any stage on the way.
#include <algorithm>
#include <fstream>
#include <iostream>

#include "driver/cli/file_hints.h"
#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/cli/pass_files.h"
#include "driver/cli/reports.h"
#include "driver/cli/scheduling_report.h"
#include "driver/compile/import_network.h"
#include "driver/package/package_model.h"
#include "driver/package/scheduling.h"
#include "graph/explain_fusion.h"
#include "ir/program_text.h"

namespace polyte::cli {
namespace {

struct CompileOptions {
  std::string model;
  std::string output;
  ModelVerbOptions verb;
  std::vector<std::string> emit;
  std::string emit_dir, dump_dir;
  bool explain = false, time_passes = false, json = false;
  bool names_device = false;  // whether --device or --driver is given
};

std::string groups_text(const driver::ScheduledModel& model) {
  std::string text;
  for (const driver::GroupPlan& group : model.groups) {
    text += group.name + (group.view ? "  (a view: no kernel)" : "") + "\n";
    for (graph::NodeId id : group.nodes) text += "  " + model.graph.node(id).name + "\n";
  }
  return text;
}

// The stage of every group with a kernel, in execution order.
// A kernel that several groups share is printed once, under the name of the first; the others
// name it.
std::string stage_text(const std::string& kind, const driver::ScheduledModel& model,
                       const codegen::Target& target) {
  if (kind == "graph") return graph::print(model.graph);
  if (kind == "groups") return groups_text(model);
  if (kind == "c") return emit_c(model.kernels, target.machine);
  std::string text;
  for (const driver::GroupPlan& group : model.groups) {
    if (group.view) continue;
    const driver::BuiltKernel& kernel = model.kernel_of(group);
    if (kind == "program") {
      text += ir::print(group.expansion.program) + "\n";
    } else if (kernel.program->name != group.name) {
      text += "# " + group.name + ": the same kernel as " + kernel.program->name + "\n";
    } else {
      text += emit_kernel(kind, kernel, target) + "\n";
    }
  }
  return text;
}

// The most memory that this process has had resident, in megabytes, by the system's account.
// VmHWM, the high-water mark of the resident set, in KiB (proc(5)).
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024 / 1e6;
  }
  return 0;
}

void print_times(const driver::ScheduledModel& model) {
  for (const StageTime& time : model.times)
    std::fprintf(stderr, "%10.2f ms  %s\n", time.milliseconds, time.stage.c_str());
  for (const graph::PassRecord& pass : model.passes.passes) {
    std::fprintf(stderr, "%10.2f ms    graph: %s (%d rewrites)\n", pass.milliseconds,
                 pass.name.c_str(), pass.rewrites);
  }
  std::map<std::string, double> kernels;
  for (const driver::BuiltKernel& kernel : model.kernels) {
    for (const StageTime& time : kernel.times) kernels[time.stage] += time.milliseconds;
  }
  for (const auto& [stage, milliseconds] : kernels) {
    std::fprintf(stderr, "%10.2f ms    kernels, all jobs: %s\n", milliseconds, stage.c_str());
  }
  std::fprintf(stderr, "%10.1f MB  peak memory\n", peak_megabytes());
}

PassFiles pass_files(const CompileOptions& options) {
  std::vector<std::string> files = {options.model};
  add_files(options.verb, files);
  return {"--dump-passes", options.dump_dir, files};
}

// Without a folder there is one kind only (check_combination), to stdout.
void emit(const CompileOptions& options, const driver::ScheduledModel& model,
          const codegen::Target& target) {
  for (const std::string& kind : options.emit) {
    const std::string text = stage_text(kind, model, target);
    if (options.emit_dir.empty()) {
      std::cout << text;
    } else {
      write_file(options.emit_dir + "/" + kind + ".txt", text);
    }
  }
}

void dump_kernels(const CompileOptions& options, const driver::ScheduledModel& model,
                  const Machine& machine) {
  const PassFiles files = pass_files(options);
  for (const driver::BuiltKernel& kernel : model.kernels) dump_passes(files, kernel, machine);
}

// Layouts and fusion are decided for the network; each kernel is explained once.
void explain(const CompileOptions& options, const driver::ScheduledModel& model,
             const Machine& machine) {
  std::cout << layouts_text(model.passes) << "\n";
  std::cout << graph::explain_fusion(model.fusion_graph, model.fusion_options, model.fusion);
  for (const driver::GroupPlan& group : model.groups) {
    if (group.view) continue;
    const driver::BuiltKernel& kernel = model.kernel_of(group);
    if (kernel.program->name == group.name) {
      std::cout << "\n" << explain_kernel(kernel, machine, !options.verb.schedule.no_proof);
    } else {
      std::cout << "\n" << group.name << "\n  the same kernel as " << kernel.program->name << "\n";
    }
  }
}

// What is written, checked before anything is compiled. `files`: what is read besides the
// options' own.
void check_files(const CompileOptions& options, std::vector<std::string> files) {
  add_files(options.verb, files);
  if (!options.dump_dir.empty()) make_folder(options.dump_dir);
  if (!options.output.empty()) check_output_file("-o " + options.output, options.output, files);
  if (options.emit_dir.empty()) return;
  make_folder(options.emit_dir);
  for (const std::string& kind : options.emit) {
    const std::string path = options.emit_dir + "/" + kind + ".txt";
    check_output_file("--emit-dir: " + path, path, files);
  }
}

// `groups` has a row per group with a kernel; the first lines sum all of them up.
void print_json(const CompileOptions& options, const driver::ScheduledModel& model) {
  Scheduling all;
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const driver::GroupPlan& group : model.groups) {
    if (group.view) continue;
    const driver::BuiltKernel& kernel = model.kernel_of(group);
    all.push_back({group.name, driver::scheduling_of(kernel)});
    nlohmann::ordered_json row{{"name", group.name}, {"kernel", kernel.kernel.program.name}};
    row.update(scheduling_json({all.back()}, ""));
    groups.push_back(std::move(row));
  }
  nlohmann::ordered_json json{{"model", options.model}, {"artifact", options.output}};
  json.update(scheduling_json(all, ""));
  json["groups"] = std::move(groups);
  json["notes"] = model.notes;
  std::cout << json.dump(2) << "\n";
}

// All that was asked to be seen of the model on its way.
void show(const CompileOptions& options, const driver::ScheduledModel& model,
          const codegen::Target& target) {
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  if (options.time_passes) print_times(model);
  if (options.explain) explain(options, model, target.machine);
  emit(options, model, target);
  if (!options.dump_dir.empty()) dump_kernels(options, model, target.machine);
  if (options.json) print_json(options, model);
}

// Rules between options, which CLI11 does not know.
void check_combination(const CompileOptions& options) {
  if (options.output.empty() && options.emit.empty() && options.dump_dir.empty() &&
      !options.explain && !options.json)
    throw UserError(
        ExitStatus::Usage,
        "nothing to do: give -o OUT.polyte, --emit KIND, --dump-passes DIR, --explain or --json");
  if (options.emit_dir.empty() && options.emit.size() > 1)
    throw UserError(ExitStatus::Usage, "--emit of several kinds needs --emit-dir DIR");
  if (options.json && (options.explain || (!options.emit.empty() && options.emit_dir.empty())))
    throw UserError(ExitStatus::Usage,
                    "--json with --explain or --emit: stdout has room for one of them");
  if (options.names_device && options.verb.target != "cuda:native")
    throw UserError(
        ExitStatus::Usage,
        "--device and --driver say which GPU --target cuda:native asks, the target is " +
            options.verb.target);
}

int run_compile(const CompileOptions& options) {
  check_combination(options);
  const codegen::Target target =
      target_from(options.verb.target, options.verb.schedule_threads, options.verb.cuda);
  check_emulate(options.verb.emulate, target);
  if (const auto problems = device_kind_problems(options.emit, target); !problems.empty())
    throw UserError(ExitStatus::Usage, problems);
  require_model_file(options.model);
  if (is_artifact(options.model))
    throw UserError(ExitStatus::Usage, options.model +
                                           ": is an artifact, which is compiled already, expected "
                                           "an ONNX model; polyte run executes it");
  // Twice: first with the files of the options, before the model is read; then with the model's
  // own external files, which only the import knows. An output must not be a file that is read.
  check_files(options, {options.model});
  frontend::ImportOptions import = import_options(options.verb, Ranges::Taken);
  std::vector<std::string> external;
  import.reads = [&](const std::filesystem::path& file) { external.push_back(file.string()); };
  driver::ImportedNetwork imported =
      driver::import_network(options.model, import, open_ranges(options.verb));
  check_files(options, external);
  const driver::ModelOptions model_opts = model_options(options.verb);
  for (const std::string& note : imported.notes) std::cerr << "note: " << note << "\n";
  // Without -o the pipeline ends at schedules: no machine code, no memory plan.
  if (options.output.empty()) {
    show(options, driver::schedule_model(std::move(imported.network), target, model_opts), target);
    return 0;
  }
  driver::PackagedModel model =
      driver::package_model(std::move(imported.network), target, model_opts);
  show(options, model, target);
  // What --value fixed is part of the artifact, so that `run` can hold given values against it.
  model.parts.manifest.fixed = fixed_inputs(import);
  runtime::write_artifact(options.output, model.parts);
  std::cerr << options.output << ": " << model.groups.size() << " groups, " << model.kernels.size()
            << " kernels, arena " << arena_text(model.parts.manifest) << "\n";
  return 0;
}

}  // namespace

void add_compile(const Verb& app) {
  const Verb verb = app.verb("compile", "a model to an artifact");
  auto options = std::make_shared<CompileOptions>();
  verb.option("model", options->model, "an ONNX file").required();
  verb.option("-o,--output", options->output, "the artifact to write");
  add_model_options(verb, options->verb);
  add_device_options(verb, options->verb.cuda);
  verb.option("--threads", options->verb.schedule_threads,
              "that schedules are made for; 0: as many as processors")
      .within(0, 1024)
      .shows_default();
  verb.option("--emit", options->emit, emit_help(true)).separated().one_of(emit_kinds_of(true));
  verb.option("--emit-dir", options->emit_dir, "a folder for several stages");
  verb.option("--dump-passes", options->dump_dir, kDumpPassesHelp);
  verb.flag("--explain", options->explain,
            "why operators were fused or not, and what was decided for each kernel");
  verb.flag("--json", options->json, "which scheduler each group has, as JSON");
  verb.flag("--emulate", options->verb.emulate,
            "of a GPU: also code that emulates its threads on a CPU, for run --emulate");
  verb.flag("--time-passes", options->time_passes,
            "how long each stage took and the memory it needed, on stderr");
  verb.example("polyte compile digits.onnx --scheduler poly -o digits.polyte");
  verb.calls([options, verb] {
    options->names_device = verb.is_given("--device") || verb.is_given("--driver");
    return run_compile(*options);
  });
}

}  // namespace polyte::cli
