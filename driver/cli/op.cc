// polyte op: one operator from index notation or Program text: compile it, look at a stage,
// or time it.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "bench/measure.h"
#include "bench/peak.h"
#include "codegen/c/c_names.h"
#include "driver/cli/access_report.h"
#include "driver/cli/ahead_of_time.h"
#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/cli/pass_files.h"
#include "driver/cli/reports.h"
#include "driver/cli/scheduling_report.h"
#include "driver/cli/thread_order.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/flops.h"
#include "driver/compile/operator.h"
#include "driver/package/assemble.h"
#include "driver/package/operator_session.h"

namespace polyte::cli {
namespace {

struct OpOptions {
  OperatorOptions source;
  ScheduleOptions schedule;
  DataOptions data;
  std::string target = "cpu:native";
  std::vector<std::string> emit;
  std::string emit_dir, dump_dir, artifact, order, name;
  bool bench = false, json = false, time_passes = false, explain = false, emulate = false;
  int threads = 1, repetitions = 15;
  int schedule_threads = 0;  // of --threads, where it is given
  runtime::CudaOptions cuda;
};

// Whether it runs on a GPU that is there.
bool is_on_device(const OpOptions& options, const codegen::Target& target) {
  return target.kind == TargetKind::Cuda && !options.emulate;
}

void print_notes(const driver::BuiltKernel& kernel) {
  for (const std::string& note : kernel.notes) std::cerr << "note: " << note << "\n";
}

void print_times(const driver::BuiltKernel& kernel) {
  for (const StageTime& time : kernel.times) {
    std::fprintf(stderr, "%10.3f ms  %s\n", time.milliseconds, time.stage.c_str());
  }
}

bool emits(const OpOptions& options, const std::string& kind) {
  return std::ranges::find(options.emit, kind) != options.emit.end();
}

std::string emitted_path(const OpOptions& options, const ir::Program& program,
                         const std::string& kind) {
  return options.emit_dir + "/" + program.name + "." + extension_of(kind);
}

// One kind goes to stdout, several to files of a folder. C with a header also has the entry
// points that the header declares.
void emit(const OpOptions& options, const driver::BuiltKernel& kernel,
          const codegen::Target& target) {
  if (options.emit.size() == 1 && options.emit_dir.empty()) {
    std::cout << emit_kernel(options.emit[0], kernel, target);
    return;
  }
  for (const std::string& kind : options.emit) {
    std::string text = emit_kernel(kind, kernel, target);
    if (kind == "c" && emits(options, "header")) text += c_entries(kernel, target);
    write_file(emitted_path(options, *kernel.program, kind), text);
  }
}

// One per tensor of the interface, in its order: what the kernel is called with.
std::vector<NamedBuffer> named_buffers(const ir::Program& program) {
  std::vector<NamedBuffer> buffers;
  std::vector<runtime::Tensor> tensors = driver::make_tensors(program);
  const std::vector<const ir::Buffer*> interface = program.interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    const ir::Role role = interface[i]->role;
    buffers.push_back({interface[i]->name, role != ir::Role::Out,
                       role == ir::Role::Out || role == ir::Role::InOut, std::move(tensors[i])});
  }
  return buffers;
}

nlohmann::json bench_row(const std::string& name, const bench::Timing& timing, double flops,
                         double peak, int threads) {
  nlohmann::json row{
      {"name", name}, {"run_type", "iteration"}, {"time_unit", "ns"}, {"threads", threads}};
  row["real_time"] = timing.median();
  row["iterations"] = timing.iterations;
  row["interval"] = {timing.interval().first, timing.interval().second};
  row["flops_per_second"] = flops / (timing.median() * 1e-9);
  if (peak > 0) row["peak_fraction"] = flops / (timing.median() * 1e-9) / (peak * threads);
  return row;
}

// Views of the same memory: whatever runs writes the results into `buffers`.
std::vector<runtime::Tensor> borrowed(std::vector<NamedBuffer>& buffers) {
  std::vector<runtime::Tensor> tensors;
  for (NamedBuffer& buffer : buffers) {
    tensors.push_back(runtime::Tensor::borrow(buffer.tensor.dtype(), buffer.tensor.shape(),
                                              buffer.tensor.data()));
  }
  return tensors;
}

// What is timed: on a GPU the graph alone, on tensors that lie there.
std::function<void()> runner_of(const OpOptions& options, const driver::CompiledOperator& op,
                                std::span<runtime::Tensor> tensors, const codegen::Target& target) {
  if (!is_on_device(options, target)) {
    auto runner = std::make_shared<driver::OperatorRunner>(op, tensors, options.threads);
    return [runner] { runner->run(); };
  }
  auto session = std::make_shared<driver::OperatorSession>(op, tensors, target, options.cuda);
  session->run();
  return [session] { session->replay(); };
}

// The peak is measured on either side of the rounds, and the larger one counts.
nlohmann::json run_bench(const OpOptions& options, const driver::CompiledOperator& op,
                         std::vector<NamedBuffer>& buffers, const codegen::Target& target) {
  const Machine& machine = target.machine;
  std::vector<runtime::Tensor> tensors = borrowed(buffers);
  const std::function<void()> run = runner_of(options, op, tensors, target);
  const DType type = ir::result_type(*op.built.program);
  double peak = bench::measure_peak(machine, type);
  bench::MeasureOptions measure_options;
  measure_options.rounds = options.repetitions;
  const std::vector<bench::Timing> timings =
      bench::measure({{op.built.program->name, run}}, measure_options);
  peak = std::max(peak, bench::measure_peak(machine, type));
  const double flops = driver::count_flops(*op.built.program);
  nlohmann::json row = bench_row(op.built.program->name, timings[0], flops, peak, options.threads);
  row.update(scheduling_json(cli::scheduling_of(op.built), ""));
  row["second_judge"] = op.built.second_judge.text;
  if (options.json) return row;
  const auto [low, high] = timings[0].interval();
  const double time = timings[0].median();
  const int decimals = decimals_of(time / 1e3);
  std::printf("%-24s %12.*f us  (%.*f to %.*f)  %8.2f GF/s", op.built.program->name.c_str(),
              decimals, time / 1e3, decimals, low / 1e3, decimals, high / 1e3, flops / time);
  if (peak > 0) std::printf("  %.3f of the FMA peak", row["peak_fraction"].get<double>());
  std::printf("  (%d thread%s, %s)\n", options.threads, options.threads == 1 ? "" : "s",
              scheduler_title(op.built.script.name, cli::scheduling_of(op.built)).c_str());
  return row;
}

PassFiles pass_files(const OpOptions& options) {
  std::vector<std::string> files = {options.source.source};
  add_files(options.schedule, files);
  return {"--dump-passes", options.dump_dir, files};
}

// What was asked to be looked at: the stages before machine code.
void show(const OpOptions& options, const driver::BuiltKernel& kernel,
          const codegen::Target& target) {
  print_notes(kernel);
  if (options.time_passes) print_times(kernel);
  if (!options.emit.empty()) emit(options, kernel, target);
  if (!options.dump_dir.empty()) dump_passes(pass_files(options), kernel, target.machine);
  if (!options.explain) return;
  std::ostream& out = options.json ? std::cerr : std::cout;
  out << explain_kernel(kernel, target.machine, !options.schedule.no_proof, true)
      << "  fusion         does not apply: one Program is one kernel\n";
}

bool wants_results(const OpOptions& options) {
  return !options.data.output.empty() || !options.data.expect.empty();
}

// Whether the kernel runs once with values that matter: --bench only times it, and an artifact
// keeps constants only. With --output or --expect it always does.
bool runs_once(const OpOptions& options) {
  return wants_results(options) || (!options.bench && options.artifact.empty());
}

// Where it does not run, only constants that are kept in an artifact need values of the
// caller's; all others are filled, and never looked at.
void fill_operator(const OpOptions& options, const ir::Program& program,
                   std::vector<NamedBuffer>& buffers) {
  if (runs_once(options)) return fill_buffers(options.data, buffers);
  std::vector<std::string> inputs, kept;
  for (const ir::Buffer* buffer : program.interface()) {
    if (buffer->role != ir::Role::Out) inputs.push_back(buffer->name);
    if (buffer->role == ir::Role::Const && !options.artifact.empty()) kept.push_back(buffer->name);
  }
  GivenTensors given = read_inputs(options.data);
  name_inputs(inputs, given);
  require_inputs(options.data, kept, given);
  DataOptions data = options.data;
  if (data.fill.empty()) data.fill = "normal";
  fill_buffers(data, buffers, given);
}

int run_on_device(const OpOptions& options, const driver::CompiledOperator& op,
                  std::vector<NamedBuffer>& buffers, const codegen::Target& target,
                  double compiled_ms) {
  const std::vector<runtime::Tensor> tensors = borrowed(buffers);
  driver::OperatorSession session(op, tensors, target, options.cuda);
  const auto start = std::chrono::steady_clock::now();
  session.run();
  tell_outputs(op.built.program->name + " (" + op.built.script.name + "): compiled in " +
                   milliseconds(compiled_ms) + ", ran once on a GPU in " +
                   milliseconds(milliseconds_since(start)),
               buffers);
  return finish_outputs(options.data, buffers);
}

int run_once(const OpOptions& options, const driver::CompiledOperator& op,
             std::vector<NamedBuffer>& buffers, double compiled_ms) {
  std::vector<runtime::Tensor> tensors = borrowed(buffers);
  driver::OperatorRunner runner(op, tensors, options.threads);
  runtime::EmulatorOptions emulation = emulator_options(options.order, options.emulate);
  emulation.count_accesses = true;
  runner.set_emulation(emulation);
  const auto start = std::chrono::steady_clock::now();
  runner.run();
  const std::string how = options.emulate ? ", emulated in " : ", ran once in ";
  const std::string who = options.emulate ? ", no fault" : " by " + threads_text(options.threads);
  tell_outputs(op.built.program->name + " (" + op.built.script.name + "): compiled in " +
                   milliseconds(compiled_ms) + how + milliseconds(milliseconds_since(start)) + who,
               buffers);
  print_launches(runner.launch_counts());
  if (emits(options, "memory"))
    for (const runtime::LaunchCounts& count : runner.launch_counts())
      std::cerr << counted_memory(count);
  return finish_outputs(options.data, buffers);
}

bool is_of_c(const std::string& kind) {
  return kind == "c" || kind == "header" || kind == "object";
}

// Functions of C are called by the name, which no keyword can be.
void check_c_name(const OpOptions& options) {
  const auto kind = std::ranges::find_if(options.emit, is_of_c);
  if (kind == options.emit.end() || !codegen::is_c_keyword(options.name)) return;
  throw UserError(ExitStatus::Usage, "--name " + options.name + ": is a keyword of C or C++, and " +
                                         "--emit " + *kind + " names a function so; expected " +
                                         "another, such as " + options.name + "_kernel");
}

// What C has already is called otherwise there.
void note_c_name(const OpOptions& options, const ir::Program& program) {
  const std::string in_c = codegen::c_names_of(program.name).call;
  if (in_c != program.name && std::ranges::any_of(options.emit, is_of_c))
    std::cerr << "note: in C the function is called " << in_c << ", as " << program.name
              << " is a name of C or of its libraries\n";
}

// One program, compiled and run as far as the options ask; rows of --bench are added to `rows`.
int run_program(const OpOptions& options, const std::shared_ptr<const ir::Program>& program,
                const std::shared_ptr<const ir::Program>& open, const codegen::Target& target,
                nlohmann::json& rows) {
  schedule::Script script;
  driver::KernelOptions kernel = kernel_options(options.schedule, *program, script);
  kernel.open = open;
  kernel.emulated = options.emulate;
  const bool looking = !options.emit.empty() || !options.dump_dir.empty() || options.explain;
  // Who only looks at stages gets them without machine code, and without values for inputs.
  note_c_name(options, *program);
  if (looking && !options.bench && options.artifact.empty() && !wants_results(options) &&
      !options.emulate) {
    show(options, driver::build_kernel(program, target.machine, kernel), target);
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  const driver::CompiledOperator op = driver::compile_operator(program, target, kernel);
  const double compiled_ms = milliseconds_since(start);
  show(options, op.built, target);
  std::vector<NamedBuffer> buffers = named_buffers(*program);
  fill_operator(options, *program, buffers);
  if (!options.artifact.empty())
    runtime::write_artifact(options.artifact, driver::assemble(op, borrowed(buffers), target));
  if (options.bench) rows.push_back(run_bench(options, op, buffers, target));
  if (!runs_once(options)) return 0;
  return is_on_device(options, target) ? run_on_device(options, op, buffers, target, compiled_ms)
                                       : run_once(options, op, buffers, compiled_ms);
}

std::vector<std::string> outputs_of(const ir::Program& program) {
  std::vector<std::string> names;
  for (const ir::Buffer* buffer : program.interface())
    if (buffer->role == ir::Role::Out || buffer->role == ir::Role::InOut)
      names.push_back(buffer->name);
  return names;
}

// What is written, checked before anything is compiled.
void check_files(const OpOptions& options,
                 const std::vector<std::shared_ptr<const ir::Program>>& programs) {
  std::vector<std::string> files = {options.source.source};
  add_files(options.schedule, files);
  check_output(options.data, files);
  add_files(options.data, files);
  if (!options.dump_dir.empty()) make_folder(options.dump_dir);
  if (!options.artifact.empty())
    check_output_file("--artifact " + options.artifact, options.artifact, files);
  if (options.emit_dir.empty()) return;
  make_folder(options.emit_dir);
  for (const auto& program : programs)
    for (const std::string& kind : options.emit) {
      const std::string path = emitted_path(options, *program, kind);
      check_output_file("--emit-dir: " + path, path, files);
    }
}

// All that is wrong with the options is said at once, before anything is compiled.
void check_combination(const OpOptions& options) {
  std::vector<std::string> problems;
  if (options.json && !options.bench)
    problems.emplace_back("--json: the figures of --bench, which is not given");
  if (options.json && !options.emit.empty() && options.emit_dir.empty())
    problems.emplace_back(
        "--emit with --json: stdout has room for one of them, give --emit-dir DIR");
  if (options.emit.size() > 1 && options.emit_dir.empty())
    problems.emplace_back("--emit of several kinds needs --emit-dir DIR");
  if (options.emit.size() == 1 && emits(options, "object") && options.emit_dir.empty())
    problems.emplace_back("--emit object is a file, not text: give --emit-dir DIR");
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

// What only a GPU has, or only a processor.
void check_device(const OpOptions& options, const codegen::Target& target) {
  const bool is_gpu = target.kind == TargetKind::Cuda;
  std::vector<std::string> problems;
  if (options.emulate && !is_gpu)
    problems.emplace_back("--emulate runs the threads of a GPU, the target is " +
                          target.machine.cpu + ": give --target cuda:h100 or another");
  if (options.emulate && options.bench)
    problems.emplace_back("--bench: what --emulate runs says nothing of time");
  for (std::string& problem : device_kind_problems(options.emit, target))
    problems.push_back(std::move(problem));
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

// --name: of the one program there is.
void rename(const std::string& name, std::vector<std::shared_ptr<const ir::Program>>& programs) {
  const bool starts_well = std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  if (!starts_well ||
      !std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }))
    throw UserError(ExitStatus::Usage,
                    "--name " + name + ": expected a letter, then letters, digits or _");
  if (programs.size() != 1)
    throw UserError(ExitStatus::Usage, "--name " + name + ": there are " +
                                           std::to_string(programs.size()) +
                                           " programs, which have names of their own");
  auto renamed = std::make_shared<ir::Program>(*programs[0]);
  renamed->name = name;
  programs[0] = std::move(renamed);
}

// In the order of what can be wrong: options, target, Program, files. Nothing is compiled, and
// no file written, before all of that is right.
int run_op(const OpOptions& options) {
  check_combination(options);
  // For its errors only.
  emulator_options(options.order, options.emulate);
  const codegen::Target target =
      target_from(options.target, options.schedule_threads, options.cuda);
  check_device(options, target);
  nlohmann::json rows = nlohmann::json::array();
  int status = 0;
  std::vector<std::shared_ptr<const ir::Program>> open;
  std::vector<std::shared_ptr<const ir::Program>> programs = load_programs(options.source, &open);
  if (!options.name.empty()) {
    rename(options.name, programs);
    rename(options.name, open);
    check_c_name(options);
  }
  if (programs.size() > 1 && !options.artifact.empty())
    throw UserError(ExitStatus::Usage, "--artifact: " + options.source.source + " has " +
                                           std::to_string(programs.size()) +
                                           " programs, an artifact holds one");
  check_scripts(options.schedule, programs);
  check_files(options, programs);
  require_data(options.data);
  for (const auto& program : programs) {
    if (runs_once(options)) check_outputs(options.data, outputs_of(*program));
  }
  for (std::size_t i = 0; i < programs.size(); ++i)
    status = std::max(status, run_program(options, programs[i], open[i], target, rows));
  if (options.json) {
    const nlohmann::json context{{"cpu", target.machine.model_name},
                                 {"target", target.machine.cpu}};
    std::cout << nlohmann::json{{"context", context}, {"benchmarks", rows}}.dump(2) << "\n";
  }
  return status;
}

}  // namespace

void add_op(const Verb& app) {
  const Verb verb = app.verb("op", "one operator, from index notation or Program text");
  auto options = std::make_shared<OpOptions>();
  add_operator_options(verb, options->source);
  add_schedule_options(verb, options->schedule);
  add_data_options(verb, options->data);
  verb.option("--target", options->target, kTargetHelp).shows_default();
  verb.option("--emit", options->emit, emit_help(false)).separated().one_of(emit_kinds_of(false));
  verb.option("--emit-dir", options->emit_dir, "a folder for several stages");
  verb.option("--name", options->name,
              "what the program is called: its script, its files, its function in C");
  verb.option("--dump-passes", options->dump_dir, kDumpPassesHelp);
  verb.option("--artifact", options->artifact,
              "write the operator, its constants inside, for polyte run and the runtime library");
  verb.flag("--explain", options->explain, "what was decided for the kernel, and why");
  verb.flag("--bench", options->bench, "time it");
  add_device_options(verb, options->cuda);
  verb.flag("--emulate", options->emulate,
            "of a GPU: emulate its threads on this CPU, and check every access");
  add_order_option(verb, options->order);
  verb.option("--threads", options->threads, kThreadsHelp).within(1, 1024).shows_default();
  verb.option("--repetitions", options->repetitions, "rounds of --bench")
      .within(1, 10000)
      .shows_default();
  verb.flag("--json", options->json, "figures of --bench as JSON");
  verb.flag("--time-passes", options->time_passes, "how long each stage took, on stderr");
  verb.example("polyte op 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape m=512,n=512,k=512 --bench");
  verb.calls([options, verb] {
    if (verb.is_given("--threads")) options->schedule_threads = options->threads;
    return run_op(*options);
  });
}

}  // namespace polyte::cli
