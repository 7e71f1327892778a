// polyte bench: times artifacts, ONNX files and operators, interleaved. polyte compare: the same work under several
// schedulers and scripts, side by side.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <set>

#include "bench/measure.h"
#include "bench/peak.h"
#include "driver/cli/model_options.h"
#include "driver/cli/proof_costs.h"
#include "driver/flops.h"
#include "driver/operator.h"
#include "runtime/compare.h"
#include "runtime/session.h"

namespace polyte::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> sources;
  ModelVerbOptions verb;
  OperatorOptions op;
  std::vector<std::string> schedulers;
  std::string fill = "normal";
  int threads = 1, repetitions = 15;
  bool json = false, proof = false;
};

// Something that can be run again and again, with what is known of it.
struct Work {
  std::string name;
  double flops = 0;  // 0: not known
  double bytes = 0;  // of the operator's interface, each element once
  DType dtype = DType::F32;
  std::string script;
  std::vector<runtime::Tensor> tensors;
  std::vector<runtime::Tensor> results;
  std::unique_ptr<driver::CompiledOperator> op;
  std::unique_ptr<driver::OperatorRunner> runner;
  std::unique_ptr<runtime::Session> session;
  std::vector<runtime::TensorView> inputs, outputs;

  const std::vector<runtime::Tensor>& written() const { return session ? results : tensors; }
  void run() {
    if (runner) {
      runner->run();
    } else {
      session->run(inputs, outputs);
    }
  }
};

std::unique_ptr<Work> model_work(const std::string& path, const BenchOptions& options, const ModelVerbOptions& verb) {
  auto work = std::make_unique<Work>();
  work->name = path;
  if (!is_artifact(path)) work->name += verb.schedule.scripts.empty() ? " " + verb.schedule.scheduler : " scripts";
  const LoadedModel model = load_model(path, verb);
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  work->session = std::make_unique<runtime::Session>(model.artifact, runtime::SessionOptions{options.threads});
  const runtime::Fill fill = runtime::parse_fill(options.fill);
  for (const runtime::TensorSpec& spec : work->session->inputs()) {
    work->tensors.emplace_back(spec.dtype, spec.shape);
    runtime::fill(work->tensors.back(), fill, spec.name);
  }
  for (const runtime::TensorSpec& spec : work->session->outputs()) work->results.emplace_back(spec.dtype, spec.shape);
  for (const runtime::Tensor& tensor : work->tensors) work->inputs.push_back(tensor.view());
  for (const runtime::Tensor& tensor : work->results) work->outputs.push_back(tensor.view());
  return work;
}

std::unique_ptr<Work> operator_work(const std::shared_ptr<const ir::Program>& program, const BenchOptions& options,
                                    const ScheduleOptions& schedule, const codegen::Target& target) {
  auto work = std::make_unique<Work>();
  schedule::Script script;
  const driver::KernelOptions kernel = kernel_options(schedule, *program, script);
  work->op = std::make_unique<driver::CompiledOperator>(driver::compile_operator(program, target, kernel));
  for (const std::string& note : work->op->built.notes) std::cerr << "note: " << note << "\n";
  work->name = program->name + " " + (kernel.arm == driver::Arm::Script ? kernel.script_origin : schedule.scheduler);
  work->flops = driver::count_flops(*program);
  work->dtype = work->op->built.script.dtype;
  work->script = schedule::print(work->op->built.script);
  work->tensors = driver::make_tensors(*program);
  const runtime::Fill fill = runtime::parse_fill(options.fill);
  const std::vector<const ir::Buffer*> interface = program->interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role != ir::Role::Out) runtime::fill(work->tensors[i], fill, interface[i]->name);
  }
  for (const runtime::Tensor& tensor : work->tensors) work->bytes += static_cast<double>(tensor.bytes());
  work->runner = std::make_unique<driver::OperatorRunner>(*work->op, work->tensors, options.threads);
  return work;
}

bool is_operator(const std::string& source) {
  return source.find('[') != std::string::npos || source.ends_with(".program");
}

// An artifact once; an ONNX file by every scheduler, and with the scripts if there are any.
void add_model_work(const std::string& path, const BenchOptions& options, const std::vector<std::string>& schedulers,
                    std::vector<std::unique_ptr<Work>>& works) {
  ModelVerbOptions verb = options.verb;
  if (is_artifact(path)) return works.push_back(model_work(path, options, verb));
  verb.schedule.scripts.clear();
  for (const std::string& scheduler : schedulers) {
    verb.schedule.scheduler = scheduler;
    works.push_back(model_work(path, options, verb));
  }
  if (!options.verb.schedule.scripts.empty()) works.push_back(model_work(path, options, options.verb));
}

std::vector<std::unique_ptr<Work>> all_work(const BenchOptions& options) {
  const codegen::Target target = target_from(options.verb.target);
  std::vector<std::string> schedulers = options.schedulers;
  if (schedulers.empty()) schedulers = {options.verb.schedule.scheduler};
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
        works.push_back(operator_work(program, options, plain, target));
      }
      for (const std::string& script : options.verb.schedule.scripts) {
        if (load_script(script, options.verb.schedule.params).program != program->name) continue;
        ScheduleOptions one = options.verb.schedule;
        one.scripts = {script};
        works.push_back(operator_work(program, options, one, target));
        used.insert(script);
      }
    }
  }
  for (const std::string& script : options.verb.schedule.scripts) {
    if (!used.contains(script))
      throw UserError(ExitStatus::Usage, script + ": no source has the program of this script");
  }
  return works;
}

struct Figures {
  std::vector<bench::Timing> timings;
  std::map<DType, double> peaks;
};

Figures time_all(std::vector<std::unique_ptr<Work>>& works, const BenchOptions& options, const Machine& machine) {
  Figures figures;
  std::vector<bench::Contender> contenders;
  for (std::unique_ptr<Work>& work : works) {
    Work* w = work.get();
    figures.peaks[w->dtype] = bench::measure_peak(machine, w->dtype);
    contenders.push_back({w->name, [w] { w->run(); }});
  }
  bench::MeasureOptions measure_options;
  measure_options.rounds = options.repetitions;
  figures.timings = bench::measure(contenders, measure_options);
  for (auto& [type, peak] : figures.peaks) peak = std::max(peak, bench::measure_peak(machine, type));
  return figures;
}

nlohmann::json to_json(const Work& work, const bench::Timing& timing, double peak, int threads) {
  nlohmann::json row{{"name", work.name},
                     {"run_type", "iteration"},
                     {"time_unit", "ns"},
                     {"threads", threads},
                     {"real_time", timing.median()},
                     {"cpu_time", timing.median()},
                     {"iterations", timing.iterations},
                     {"interval", {timing.interval().first, timing.interval().second}}};
  if (work.flops > 0) row["flops_per_second"] = work.flops / (timing.median() * 1e-9);
  if (work.bytes > 0) row["bytes_per_second"] = work.bytes / (timing.median() * 1e-9);
  if (work.flops > 0 && peak > 0) row["peak_fraction"] = work.flops / (timing.median() * 1e-9) / (peak * threads);
  return row;
}

nlohmann::json context_json(const Machine& machine, int rounds) {
  return {{"cpu", machine.model_name},
          {"target", machine.cpu},
          {"cores", machine.cores},
          {"l1", machine.l1.bytes},
          {"l2", machine.l2.bytes},
          {"l3", machine.l3.bytes},
          {"vector_bits", machine.vector_bits},
          {"rounds", rounds}};
}

void print_row(const nlohmann::json& row) {
  std::printf("%-44s %12.1f us", row["name"].get<std::string>().c_str(), row["real_time"].get<double>() / 1e3);
  if (row.contains("bytes_per_second")) std::printf("  %7.2f GB/s", row["bytes_per_second"].get<double>() / 1e9);
  if (row.contains("flops_per_second")) std::printf("  %8.2f GF/s", row["flops_per_second"].get<double>() / 1e9);
  if (row.contains("peak_fraction")) std::printf("  %.3f of the FMA peak", row["peak_fraction"].get<double>());
  std::printf("\n");
}

// Instead of the kernels: their schedules' proofs.
int run_proofs(const BenchOptions& options) {
  const Machine machine = target_from(options.verb.target).machine;
  std::vector<std::string> schedulers = options.schedulers;
  if (schedulers.empty()) schedulers = {options.verb.schedule.scheduler};
  std::vector<ProofCost> costs;
  for (const std::string& source : options.sources) {
    if (!is_operator(source)) throw UserError(ExitStatus::Usage, source + ": --proof takes Programs");
    OperatorOptions op = options.op;
    op.source = source;
    op.shape = options.verb.shapes;
    for (const std::shared_ptr<const ir::Program>& program : load_programs(op))
      for (const std::string& scheduler : schedulers)
        costs.push_back(proof_cost(program, *driver::arm_from_string(scheduler), machine, 3));
  }
  print_proof_costs(costs, options.json);
  return 0;
}

int run_bench(const BenchOptions& options) {
  if (options.proof) return run_proofs(options);
  std::vector<std::unique_ptr<Work>> works = all_work(options);
  const Machine machine = target_from(options.verb.target).machine;
  const Figures figures = time_all(works, options, machine);
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < works.size(); ++i) {
    rows.push_back(to_json(*works[i], figures.timings[i], figures.peaks.at(works[i]->dtype), options.threads));
    if (!options.json) print_row(rows.back());
  }
  if (options.json) {
    std::cout << nlohmann::json{{"context", context_json(machine, options.repetitions)}, {"benchmarks", rows}}.dump(2)
              << "\n";
  }
  return 0;
}

// Outputs of every contender against the first one's.
std::vector<std::string> agreement(std::vector<std::unique_ptr<Work>>& works) {
  std::vector<std::string> verdicts;
  for (std::unique_ptr<Work>& work : works) work->run();
  for (const std::unique_ptr<Work>& work : works) {
    std::string verdict = "same bits as " + works[0]->name;
    const std::vector<runtime::Tensor>&own = work->written(), &first = works[0]->written();
    if (own.size() != first.size()) verdict = "not the same work as " + works[0]->name;
    for (std::size_t i = 0; i < std::min(own.size(), first.size()); ++i) {
      if (runtime::compare_bits(own[i], first[i]).equal) continue;
      const runtime::Comparison c = runtime::compare(own[i], first[i], {1e-4, 1e-4});
      verdict = c.equal ? "within 1e-4 of " + works[0]->name : "differs from " + works[0]->name + ": " + c.message;
    }
    verdicts.push_back(work == works[0] ? "" : verdict);
  }
  return verdicts;
}

int run_compare(BenchOptions options) {
  if (options.schedulers.empty()) options.schedulers = {"poly", "template"};
  std::vector<std::unique_ptr<Work>> works = all_work(options);
  const Machine machine = target_from(options.verb.target).machine;
  const std::vector<std::string> verdicts = agreement(works);
  const Figures figures = time_all(works, options, machine);
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < works.size(); ++i) {
    nlohmann::json row = to_json(*works[i], figures.timings[i], figures.peaks.at(works[i]->dtype), options.threads);
    const bench::Ratio ratio = bench::ratio_of(figures.timings[i], figures.timings[0]);
    row["ratio_to_first"] = {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
    row["outputs"] = verdicts[i];
    row["script"] = works[i]->script;
    rows.push_back(row);
    if (options.json) continue;
    print_row(row);
    if (i > 0) {
      std::printf("    %.3fx the time of the first, 95 %% interval %.3f to %.3f%s; %s\n", ratio.median, ratio.low,
                  ratio.high, ratio.distinguishable() ? "" : ", not distinguishable", verdicts[i].c_str());
    }
  }
  if (options.json) {
    std::cout << nlohmann::json{{"context", context_json(machine, options.repetitions)}, {"benchmarks", rows}}.dump(2)
              << "\n";
    return 0;
  }
  for (const std::unique_ptr<Work>& work : works) {
    if (!work->script.empty()) std::printf("\n# %s\n%s", work->name.c_str(), work->script.c_str());
  }
  return 0;
}

std::shared_ptr<BenchOptions> bench_options(CLI::App& verb) {
  auto options = std::make_shared<BenchOptions>();
  verb.add_option("sources", options->sources, "artifacts, ONNX files, Program files or index notation")->required();
  add_model_options(verb, options->verb);
  verb.get_option("--shape")->delimiter(',');
  verb.add_option("--dtype", options->op.dtype, "element type of index notation")->capture_default_str();
  verb.add_option("--schedulers", options->schedulers, "these arms, poly,template")
      ->delimiter(',')
      ->check(CLI::IsMember({"naive", "isl", "poly", "template"}));
  verb.add_option("--fill", options->fill, "zeros, ones, normal[:SEED] or int:SEED")->capture_default_str();
  verb.add_option("--threads", options->threads, "worker threads")->check(CLI::Range(1, 1024))->capture_default_str();
  verb.add_option("--repetitions", options->repetitions, "rounds")->check(CLI::Range(1, 10000))->capture_default_str();
  verb.add_flag("--json", options->json, "as JSON, in Google Benchmark's layout");
  return options;
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("bench", "time artifacts, ONNX files and operators, interleaved");
  std::shared_ptr<BenchOptions> options = bench_options(*verb);
  verb->add_flag("--proof", options->proof, "not the kernels: the proofs of their schedules, by directive and whole");
  verb->footer("example: polyte bench poly.polyte template.polyte --threads 1");
  verb->callback([options, &status] { status = run_bench(*options); });
}

void add_compare(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("compare", "the same work under several schedulers or scripts, side by side");
  std::shared_ptr<BenchOptions> options = bench_options(*verb);
  verb->footer(
      "example: polyte compare 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape m=256,n=256,k=256 --schedulers poly,template");
  verb->callback([options, &status] { status = run_compare(*options); });
}

}  // namespace polyte::cli
