// polyte op: one operator from index notation or Program text: compile it, look at a stage, or time it.
#include <nlohmann/json.hpp>

#include <iostream>

#include "bench/measure.h"
#include "bench/peak.h"
#include "driver/cli/cli.h"
#include "driver/flops.h"
#include "driver/operator.h"

namespace polyte::cli {
namespace {

struct OpOptions {
  OperatorOptions source;
  ScheduleOptions schedule;
  DataOptions data;
  std::string target = "cpu:native";
  std::vector<std::string> emit;
  std::string emit_dir;
  bool bench = false, json = false, time_passes = false, explain = false;
  int threads = 1, repetitions = 15;
};

void print_notes(const driver::BuiltKernel& kernel) {
  for (const std::string& note : kernel.notes) std::cerr << "note: " << note << "\n";
}

void print_times(const driver::BuiltKernel& kernel) {
  for (const driver::StageTime& time : kernel.times) {
    std::fprintf(stderr, "%10.3f ms  %s\n", time.milliseconds, time.stage.c_str());
  }
}

void emit(const OpOptions& options, const driver::BuiltKernel& kernel, const codegen::Target& target) {
  if (options.emit.size() == 1 && options.emit_dir.empty()) {
    std::cout << emit_kernel(options.emit[0], kernel, target);
    return;
  }
  if (options.emit_dir.empty()) throw UserError(ExitStatus::Usage, "--emit of several kinds needs --emit-dir DIR");
  for (const std::string& kind : options.emit) {
    write_file(options.emit_dir + "/" + kernel.program->name + "." + kind, emit_kernel(kind, kernel, target));
  }
}

std::vector<NamedBuffer> named_buffers(const ir::Program& program) {
  std::vector<NamedBuffer> buffers;
  std::vector<runtime::Tensor> tensors = driver::make_tensors(program);
  const std::vector<const ir::Buffer*> interface = program.interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    const ir::Role role = interface[i]->role;
    buffers.push_back({interface[i]->name, role != ir::Role::Out, role == ir::Role::Out || role == ir::Role::InOut,
                       std::move(tensors[i])});
  }
  return buffers;
}

nlohmann::json bench_row(const std::string& name, const bench::Timing& timing, double flops, double peak, int threads) {
  nlohmann::json row{{"name", name}, {"run_type", "iteration"}, {"time_unit", "ns"}, {"threads", threads}};
  row["real_time"] = timing.median();
  row["iterations"] = timing.iterations;
  row["interval"] = {timing.interval().first, timing.interval().second};
  row["flops_per_second"] = flops / (timing.median() * 1e-9);
  if (peak > 0) row["peak_fraction"] = flops / (timing.median() * 1e-9) / (peak * threads);
  return row;
}

void run_bench(const OpOptions& options, const driver::CompiledOperator& op, std::vector<NamedBuffer>& buffers,
               const Machine& machine) {
  std::vector<runtime::Tensor> tensors;
  for (NamedBuffer& buffer : buffers) {
    tensors.push_back(runtime::Tensor::borrow(buffer.tensor.dtype(), buffer.tensor.shape(), buffer.tensor.data()));
  }
  driver::OperatorRunner runner(op, tensors, options.threads);
  double peak = bench::measure_peak(machine, op.built.script.dtype);
  bench::MeasureOptions measure_options;
  measure_options.rounds = options.repetitions;
  const std::vector<bench::Timing> timings =
      bench::measure({{op.built.program->name, [&] { runner.run(); }}}, measure_options);
  peak = std::max(peak, bench::measure_peak(machine, op.built.script.dtype));
  const double flops = driver::count_flops(*op.built.program);
  const nlohmann::json row = bench_row(op.built.program->name, timings[0], flops, peak, options.threads);
  if (options.json) {
    std::cout << nlohmann::json{{"context", {{"cpu", machine.model_name}, {"target", machine.cpu}}},
                                {"benchmarks", {row}}}
                     .dump(2)
              << "\n";
    return;
  }
  std::printf("%-24s %12.1f us  %8.2f GF/s", op.built.program->name.c_str(), timings[0].median() / 1e3,
              flops / timings[0].median());
  if (peak > 0) std::printf("  %.3f of the FMA peak", row["peak_fraction"].get<double>());
  std::printf("  (%d thread%s, %s)\n", options.threads, options.threads == 1 ? "" : "s", op.built.script.name.c_str());
}

int run_op(const OpOptions& options) {
  const codegen::Target target = target_from(options.target);
  int status = 0;
  for (const std::shared_ptr<const ir::Program>& program : load_programs(options.source)) {
    schedule::Script script;
    const driver::KernelOptions kernel = kernel_options(options.schedule, *program, script);
    if (!options.emit.empty()) {
      driver::BuiltKernel built = driver::build_kernel(program, target.machine, kernel);
      print_notes(built);
      if (options.time_passes) print_times(built);
      emit(options, built, target);
      continue;
    }
    driver::CompiledOperator op = driver::compile_operator(program, target, kernel);
    print_notes(op.built);
    if (options.time_passes) print_times(op.built);
    std::vector<NamedBuffer> buffers = named_buffers(*program);
    fill_buffers(options.data, buffers);
    if (options.bench) {
      run_bench(options, op, buffers, target.machine);
      continue;
    }
    std::vector<runtime::Tensor> tensors;
    for (NamedBuffer& buffer : buffers) {
      tensors.push_back(runtime::Tensor::borrow(buffer.tensor.dtype(), buffer.tensor.shape(), buffer.tensor.data()));
    }
    driver::OperatorRunner(op, tensors, options.threads).run();
    status = std::max(status, finish_outputs(options.data, buffers));
  }
  return status;
}

}  // namespace

void add_op(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("op", "one operator, from index notation or Program text");
  auto options = std::make_shared<OpOptions>();
  add_operator_options(*verb, options->source);
  add_schedule_options(*verb, options->schedule);
  add_data_options(*verb, options->data);
  verb->add_option("--target", options->target, "cpu:native or an LLVM CPU name")->capture_default_str();
  verb->add_option("--emit", options->emit, "print a stage: program script directives loops llvm-ir asm")
      ->delimiter(',')
      ->check(CLI::IsMember(emit_kinds()));
  verb->add_option("--emit-dir", options->emit_dir, "a folder for several stages");
  verb->add_flag("--bench", options->bench, "time it");
  verb->add_option("--threads", options->threads, "worker threads")->check(CLI::Range(1, 1024))->capture_default_str();
  verb->add_option("--repetitions", options->repetitions, "rounds of --bench")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "figures of --bench as JSON");
  verb->add_flag("--time-passes", options->time_passes, "how long each stage took, on stderr");
  verb->footer("example: polyte op 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape m=512,n=512,k=512 --bench");
  verb->callback([options, &status] { status = run_op(*options); });
}

}  // namespace polyte::cli
