#include "driver/cli/works.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "bench/peak.h"
#include "driver/cli/reports.h"
#include "driver/cli/run_sizes.h"
#include "driver/compile/flops.h"
#include "driver/compile/least_time.h"
#include "support/caches.h"

namespace polyte::cli {
namespace {

// An artifact, or an ONNX file compiled by one scheduler, with inputs and outputs of its own.
std::unique_ptr<Work> model_work(const std::string& path, const BenchOptions& options,
                                 const ModelVerbOptions& verb) {
  auto work = std::make_unique<Work>();
  const LoadedModel model = load_model(path, verb);
  work->source = work->name = path;
  work->scheduler = verb.schedule.scripts.empty() ? verb.schedule.scheduler : "scripts";
  work->scheduling = scheduling_of(model.artifact->manifest().steps);
  work->loops = model.loops;
  if (!is_artifact(path)) work->name += " " + scheduler_title(work->scheduler, work->scheduling);
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  if (model.artifact->manifest().arch == to_string(TargetKind::Cuda)) {
    work->gpu = gpu_figures(*model.artifact);
    if (options.on == BenchOptions::On::Nothing) return work;
  }
  work->session = std::make_unique<runtime::Session>(
      model.artifact, runtime::SessionOptions{options.threads, options.verb.cuda});
  const runtime::Fill fill = runtime::parse_fill(options.fill);
  const std::vector<std::int64_t> sizes = work->session->symbols().empty()
                                              ? std::vector<std::int64_t>()
                                              : run_sizes(*work->session, {}, verb.shapes);
  for (const runtime::TensorSpec& spec : work->session->inputs()) {
    work->tensors.emplace_back(spec.dtype, shape_at(spec, sizes));
    runtime::fill(work->tensors.back(), fill, spec.name);
  }
  for (const runtime::TensorSpec& spec : work->session->outputs())
    work->results.emplace_back(spec.dtype, shape_at(spec, sizes));
  for (const runtime::Tensor& tensor : work->tensors) work->inputs.push_back(tensor.view());
  for (const runtime::Tensor& tensor : work->results) work->outputs.push_back(tensor.view());
  // On a GPU the first run captures the graph, which is no part of what is timed.
  if (work->session->device().device_type == POLYTE_DL_CUDA)
    work->session->run(work->inputs, work->outputs);
  return work;
}

// The source's name has the Program's digest: contenders of one name and other sizes are not
// the same work.
std::unique_ptr<Work> operator_work(const std::shared_ptr<const ir::Program>& program,
                                    const BenchOptions& options, const ScheduleOptions& schedule,
                                    const codegen::Target& target) {
  auto work = std::make_unique<Work>();
  schedule::Script script;
  driver::KernelOptions kernel = kernel_options(schedule, *program, script);
  kernel.emulated = options.on == BenchOptions::On::Emulator;
  work->op =
      std::make_unique<driver::CompiledOperator>(driver::compile_operator(program, target, kernel));
  for (const std::string& note : work->op->built.notes) std::cerr << "note: " << note << "\n";
  work->source = program->name + "@" + ir::digest(*program);
  work->scheduler =
      kernel.scheduler == driver::Scheduler::Script ? kernel.script_origin : schedule.scheduler;
  work->scheduling = cli::scheduling_of(work->op->built);
  work->loops = loops_digest({&work->op->built, 1});
  work->name = program->name + " " + scheduler_title(work->scheduler, work->scheduling);
  work->flops = driver::count_flops(*program);
  work->dtype = ir::result_type(*program);
  work->script = schedule::print(work->op->built.script);
  work->tensors = driver::make_tensors(*program);
  const runtime::Fill fill = runtime::parse_fill(options.fill);
  const std::vector<const ir::Buffer*> interface = program->interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role != ir::Role::Out && options.on != BenchOptions::On::Nothing)
      runtime::fill(work->tensors[i], fill, interface[i]->name);
  }
  for (const runtime::Tensor& tensor : work->tensors)
    work->bytes += static_cast<double>(tensor.bytes());
  // Figures of the code need no device, so they are there in all three cases.
  if (target.kind == TargetKind::Cuda) work->gpu = gpu_figures(work->op->built, target);
  if (options.on == BenchOptions::On::Nothing) return work;
  if (target.kind == TargetKind::Cuda && options.on == BenchOptions::On::Device) {
    work->device = std::make_unique<driver::OperatorSession>(*work->op, work->tensors, target,
                                                             options.verb.cuda);
    work->device->run();
  } else {
    work->runner =
        std::make_unique<driver::OperatorRunner>(*work->op, work->tensors, options.threads);
    if (work->gpu) work->runner->set_emulation(options.emulation);
  }
  return work;
}

// An artifact once; an ONNX file by every scheduler, and with the scripts if there are any.
void add_model_work(const std::string& path, const BenchOptions& options,
                    const std::vector<std::string>& schedulers,
                    std::vector<std::unique_ptr<Work>>& works) {
  ModelVerbOptions verb = options.verb;
  if (is_artifact(path)) return works.push_back(model_work(path, options, verb));
  // Scripts are left out of the schedulers' own works: a script would take the place of what
  // they make.
  verb.schedule.scripts.clear();
  for (const std::string& scheduler : schedulers) {
    verb.schedule.scheduler = scheduler;
    works.push_back(model_work(path, options, verb));
  }
  if (!options.verb.schedule.scripts.empty())
    works.push_back(model_work(path, options, options.verb));
}

// Where a scheduler made the loops of one before it, on the same source.
// Two schedulers that made equal loops did equal work: a difference in their times is noise.
void find_identical(std::vector<std::unique_ptr<Work>>& works) {
  for (auto work = works.begin(); work != works.end(); ++work) {
    const auto same = std::find_if(works.begin(), work, [&](const std::unique_ptr<Work>& before) {
      return has_same_loops(*before, **work);
    });
    if (same != work) (*work)->identical_to = (*same)->scheduler;
  }
}

nlohmann::json context_json(const Machine& machine, int rounds) {
  return {{"cpu", machine.model_name},
          {"target", machine.cpu},
          {"cores", machine.cores},
          {"l1", machine.l1.bytes},
          {"l2", machine.l2.bytes},
          {"l3", detect_last_cache().bytes},
          {"l3_a_core", machine.l3.bytes},
          {"vector_bits", machine.vector_bits},
          {"rounds", rounds}};
}

driver::LeastTime least_time_of(const Work& work, const Machine& machine) {
  const ir::Program* program = work.op ? work.op->built.program.get() : nullptr;
  return driver::least_time(driver::rates_for(program, machine), work.flops, work.bytes);
}

}  // namespace

bool has_same_loops(const Work& one, const Work& other) {
  return !one.loops.empty() && one.loops == other.loops && one.source == other.source;
}

bool is_operator(const std::string& source) {
  return source.find('[') != std::string::npos || source.ends_with(".program") ||
         source.ends_with(".c");
}

std::vector<std::unique_ptr<Work>> all_work(const BenchOptions& options, int& status) {
  const codegen::Target target =
      target_from(options.verb.target, options.verb.schedule_threads, options.verb.cuda);
  std::vector<std::string> schedulers = options.schedulers;
  if (schedulers.empty()) schedulers = {options.verb.schedule.scheduler};
  if (!options.verb.schedule.templates.empty() &&
      std::ranges::find(schedulers, "template") == schedulers.end())
    throw UserError(ExitStatus::Usage, "--templates " + options.verb.schedule.templates +
                                           ": only the scheduler template takes them, which is " +
                                           "not asked for");
  std::vector<std::unique_ptr<Work>> works;
  std::set<std::string> used;
  for (const std::string& source : options.sources) {
    if (!is_operator(source)) {
      add_model_work(source, options, schedulers, works);
      used.insert(options.verb.schedule.scripts.begin(), options.verb.schedule.scripts.end());
      continue;
    }
    OperatorOptions op = options.op;
    op.source = source;
    op.shape = options.verb.shapes;
    for (const std::shared_ptr<const ir::Program>& program : load_programs(op)) {
      ScheduleOptions plain = options.verb.schedule;
      plain.scripts.clear();
      plain.params.clear();
      for (const std::string& scheduler : schedulers) {
        plain.scheduler = scheduler;
        plain.templates = scheduler == "template" ? options.verb.schedule.templates : "";
        works.push_back(operator_work(program, options, plain, target));
      }
      for (const std::string& script : options.verb.schedule.scripts) try {
          if (load_script(script, options.verb.schedule.params).program != program->name) continue;
          used.insert(script);
          ScheduleOptions one = options.verb.schedule;
          one.scripts = {script};
          works.push_back(operator_work(program, options, one, target));
        } catch (const UserError& e) {  // the others are still worth their time
          std::cerr << e.what() << "\n";
          used.insert(script);
          status = static_cast<int>(ExitStatus::Refused);
        }
    }
  }
  for (const std::string& script : options.verb.schedule.scripts) {
    if (!used.contains(script))
      throw UserError(ExitStatus::Usage, script + ": no source has the program of this script");
  }
  find_identical(works);
  return works;
}

// The peak is measured before the rounds and after them, and the larger one counts: a clock that
// rises or falls meanwhile gives no share above 1 by itself.
Figures time_all(std::vector<std::unique_ptr<Work>>& works, const BenchOptions& options,
                 const Machine& machine) {
  Figures figures;
  std::vector<bench::Contender> contenders;
  for (std::unique_ptr<Work>& work : works) {
    Work* w = work.get();
    figures.peaks[w->dtype] = machine.gpu ? 0 : bench::measure_peak(machine, w->dtype);
    contenders.push_back({w->name, [w] { w->run(); }});
  }
  bench::MeasureOptions measure_options;
  measure_options.rounds = options.repetitions;
  figures.timings = bench::measure(contenders, measure_options);
  if (machine.gpu) return figures;
  for (auto& [type, peak] : figures.peaks)
    peak = std::max(peak, bench::measure_peak(machine, type));
  return figures;
}

// Names are Google Benchmark's where it has one; "cpu_time" is there for tools that expect it, and
// is the real time.
nlohmann::json to_json(const Work& work, const bench::Timing* timing, double peak,
                       const Machine& machine, int threads) {
  nlohmann::json row{
      {"name", work.name}, {"run_type", "iteration"}, {"time_unit", "ns"}, {"threads", threads}};
  row.update(scheduling_json(work.scheduling, work.identical_to));
  if (work.gpu) {
    row["gpu"] = to_json(*work.gpu);
    row["gpu"]["emulated"] = work.counts.empty() ? nlohmann::json() : to_json(work.counts);
    row["flops"] = work.flops;
    row["bytes"] = work.bytes;
  }
  if (const auto price = work.gpu ? price_of(*work.gpu) : std::nullopt)
    row["predicted"] = {{"nanoseconds", price->seconds * 1e9}, {"bound", price->bound}};
  const driver::LeastTime least = least_time_of(work, machine);
  if (least.seconds > 0)
    row["predicted_least"] = {{"nanoseconds", least.seconds * 1e9}, {"bound", least.bound}};
  if (timing == nullptr) return row;
  const double seconds = timing->median() * 1e-9;
  row["real_time"] = row["cpu_time"] = timing->median();
  row["iterations"] = timing->iterations;
  row["interval"] = {timing->interval().first, timing->interval().second};
  if (work.flops > 0) row["flops_per_second"] = work.flops / seconds;
  if (work.bytes > 0) row["bytes_per_second"] = work.bytes / seconds;
  if (work.flops > 0 && peak > 0) row["peak_fraction"] = work.flops / seconds / (peak * threads);
  if (least.seconds > 0) row["ceiling_fraction"] = least.seconds / seconds;
  return row;
}

void print_json(const nlohmann::json& rows, const Machine& machine, int rounds) {
  std::cout
      << nlohmann::json{{"context", context_json(machine, rounds)}, {"benchmarks", rows}}.dump(2)
      << "\n";
}

void print_row(const nlohmann::json& row) {
  const double time = row["real_time"].get<double>() / 1e3;
  const int decimals = decimals_of(time);
  std::printf("%-44s %12.*f us  (%.*f to %.*f)", row["name"].get<std::string>().c_str(), decimals,
              time, decimals, row["interval"][0].get<double>() / 1e3, decimals,
              row["interval"][1].get<double>() / 1e3);
  if (row.contains("bytes_per_second"))
    std::printf("  %7.2f GB/s", row["bytes_per_second"].get<double>() / 1e9);
  if (row.contains("flops_per_second"))
    std::printf("  %8.2f GF/s", row["flops_per_second"].get<double>() / 1e9);
  if (row.contains("peak_fraction"))
    std::printf("  %.3f of the FMA peak", row["peak_fraction"].get<double>());
  if (row.contains("ceiling_fraction"))
    std::printf("  %.3f of what the GPU's rates allow", row["ceiling_fraction"].get<double>());
  if (!row["identical_to"].is_null())
    std::printf("  the loops of %s", row["identical_to"].get<std::string>().c_str());
  std::printf("\n");
}

std::shared_ptr<BenchOptions> bench_options(const Verb& verb) {
  auto options = std::make_shared<BenchOptions>();
  verb.option("sources", options->sources, "artifacts, ONNX files, Program files or index notation")
      .required();
  add_model_options(verb, options->verb);
  verb.existing("--shape").separated();
  add_device_options(verb, options->verb.cuda);
  verb.option("--dtype", options->op.dtype,
              "element type of index notation (else f32), and DATA_TYPE in C (else f64)");
  verb.option("--schedulers", options->schedulers, "these schedulers, poly,template")
      .separated()
      .one_of({"naive", "isl", "poly", "template"});
  verb.option("--fill", options->fill, "zeros, ones, normal[:SEED] or int:SEED").shows_default();
  verb.option("--threads", options->threads, kThreadsHelp).within(1, 1024).shows_default();
  verb.option("--repetitions", options->repetitions, "rounds").within(1, 10000).shows_default();
  verb.flag("--json", options->json, "as JSON, in Google Benchmark's layout");
  return options;
}

}  // namespace polyte::cli
