// The command line: one file per verb, listed in main.cc. A verb adds its options (verb.h)
// and says what it calls; errors are exceptions, main() turns them into messages and
// exit statuses (docs/command-line.md).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "driver/cli/verb.h"
#include "driver/compile/build_kernel.h"
#include "runtime/cuda_options.h"
#include "runtime/emulator.h"
#include "runtime/fill.h"
#include "runtime/tensor.h"

namespace polyte::cli {

void add_op(const Verb& app);
void add_interpret(const Verb& app);
void add_check(const Verb& app);
void add_doctor(const Verb& app);
void add_options(const Verb& app);
void add_compile(const Verb& app);
void add_run(const Verb& app);
void add_bench(const Verb& app);
void add_inspect(const Verb& app);
void add_compare(const Verb& app);
void add_conformance(const Verb& app);
void add_fuzz(const Verb& app);
void add_ops(const Verb& app);
void add_keygen(const Verb& app);
void add_sign(const Verb& app);
void add_opt(const Verb& app);
void add_templates(const Verb& app);
void add_cache(const Verb& app);
void add_complete(const Verb& app);
void add_deps(const Verb& app);
void add_prove(const Verb& app);
void add_lab(const Verb& app);
void add_suites(const Verb& app);
void add_diff(const Verb& app);
void add_help(const Verb& app);
void add_completion(const Verb& app);
void add_profile(const Verb& app);

// ---- options that several verbs share

struct ScheduleOptions {  // which scheduler, which script, how strictly
  std::string scheduler = "poly";
  std::vector<std::string> scripts;
  std::vector<std::string> params;  // Mr=14: of the scripts
  std::string templates;            // a folder; empty: ours
  bool strict = false, exact = false, no_proof = false, no_second_judge = false;
};
void add_schedule_options(const Verb& verb, ScheduleOptions& options);
void add_judge_option(const Verb& verb, bool& off);
void add_param_option(const Verb& verb, std::vector<std::string>& params);
void add_templates_option(const Verb& verb, std::string& folder);
// The script of a file, its params filled.
schedule::Script load_script(const std::string& path, const std::vector<std::string>& params);
// That each of several scripts is for one of the programs, and none has two. UserError(Usage).
void check_scripts(const ScheduleOptions& options,
                   const std::vector<std::shared_ptr<const ir::Program>>& programs);
// Options of a kernel whose Program is `program`; `script` receives the parsed file that applies to
// it, if any.
driver::KernelOptions kernel_options(const ScheduleOptions& options, const ir::Program& program,
                                     schedule::Script& script);

struct OperatorOptions {           // where a Program comes from
  std::string source;              // a file, or index notation
  std::vector<std::string> shape;  // m=512,n=512
  std::string dtype;               // empty: f32 in index notation, f64 in C
};
void add_operator_options(const Verb& verb, OperatorOptions& options);
// The sizes of --shape by name. UserError(Usage) with all that is wrong.
ir::Values parse_sizes(const std::vector<std::string>& shape);
// Every program of the file with sizes bound, or the one of the notation. UserError lists all sizes
// that lack. `open` receives the programs as they are before that.
std::vector<std::shared_ptr<const ir::Program>> load_programs(
    const OperatorOptions& options,
    std::vector<std::shared_ptr<const ir::Program>>* open = nullptr);
// All of them with their sizes open.
std::vector<ir::Program> read_programs(const OperatorOptions& options);
// The same without binding sizes: for proofs. Of several programs the one called `name`.
std::shared_ptr<const ir::Program> load_symbolic_program(const OperatorOptions& options,
                                                         const std::string& name);
// The same of a source that can be no model: of verbs that look at one Program.
std::shared_ptr<const ir::Program> load_open_program(const OperatorOptions& options);
// UserError(Usage) that lists the sizes of the Program which are not in `known`.
void require_sizes(const ir::Program& program, const ir::Values& known);

struct DataOptions {                // inputs, fills, outputs
  std::vector<std::string> inputs;  // in.npz, NAME=@x.npy
  std::string fill;                 // empty: an input without a value is an error
  std::string output;
  std::string expect;
  double rtol = 0, atol = 0;
};
void add_data_options(const Verb& verb, DataOptions& options);
struct NamedBuffer {
  std::string name;
  bool input = false, output = false;
  runtime::Tensor tensor;
};
// A tensor of -i; what an archive has packed is unpacked by `read`, when its type is known
// to be right.
struct GivenTensor {
  std::string name;  // empty: a bare .npy
  DType dtype;
  runtime::Shape shape;
  std::function<runtime::Tensor()> read;
};
using GivenTensors = std::vector<GivenTensor>;
GivenTensors read_inputs(const DataOptions& options);  // in order
// UserError(InvalidInput) with all files that are not there.
void require_data(const DataOptions& options);
// Gives a bare .npy the name of the one input that there is; UserError(Usage) where there are more.
void name_inputs(const std::vector<std::string>& inputs, GivenTensors& given);
// UserError(InvalidInput) that lists the names of -i which no input has.
void check_input_names(const std::vector<std::string>& inputs, const GivenTensors& given);
// That -o and --expect suit these outputs, before they are computed: an .npy holds one array, and
// what is expected is an output. UserError.
void check_outputs(const DataOptions& options, const std::vector<std::string>& outputs);
// UserError(Usage) that lists the inputs which neither `given` nor --fill gives a value.
void require_inputs(const DataOptions& options, const std::vector<std::string>& inputs,
                    const GivenTensors& given);
// Fills inputs from files or by `fill`. Unknown names and wrong types or shapes are listed
// together, then what has no value.
void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers);
// Named.
void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers,
                  const GivenTensors& given);
// What was done, in a line on stderr, and each output in one: type, least and greatest
// element, digest.
void tell_outputs(const std::string& done, const std::vector<NamedBuffer>& buffers);
// What an emulator's launches did, a line each on stderr.
void print_launches(const std::vector<runtime::LaunchCounts>& counts);
// Parts of such a line: "0.412 ms", "2 threads".
double milliseconds_since(std::chrono::steady_clock::time_point start);
std::string milliseconds(double value);
std::string threads_text(int threads);
// Writes -o, compares --expect. Returns the exit status: 0, or 1 with the mismatches on stderr.
int finish_outputs(const DataOptions& options, const std::vector<NamedBuffer>& buffers);

// Of --threads in verbs that compile and run.
inline constexpr const char* kThreadsHelp =
    "worker threads; given, schedules are made for so many, else for as many as processors";
// Of --target (driver/compile/describe_target.h).
inline constexpr const char* kTargetHelp =
    "cpu:native, a processor of the same kind by LLVM's name (cpu:NAME), one of another "
    "(aarch64:NAME), or a GPU "
    "(cuda:h100)";
// `threads`: that schedules are made for; 0: as many as processors. `cuda`: of cuda:native.
codegen::Target target_from(const std::string& text, int threads = 0,
                            const runtime::CudaOptions& cuda = {});

std::string read_text_file(const std::string& path);  // UserError(InvalidInput)
// With those above it; UserError(InvalidInput).
void make_folder(const std::string& path);
void write_file(const std::string& path, const std::string& contents);

// ---- the stages that --emit shows, for one kernel; the text with a final newline
// A file of C: of each kernel what makes its packed constants, and the kernel.
std::string emit_c(std::span<const driver::BuiltKernel> kernels, const Machine& machine);
std::string emit_kernel(const std::string& kind, const driver::BuiltKernel& kernel,
                        const codegen::Target& target);
const std::vector<std::string>& emit_kinds();
std::vector<std::string> emit_kinds_of(bool of_model);  // of polyte compile, or of polyte op
std::string emit_help(bool of_model);                   // of --emit: what it takes
// A line for each kind that only a GPU's kernels have, where the target is none.
std::vector<std::string> device_kind_problems(const std::vector<std::string>& kinds,
                                              const codegen::Target& target);

}  // namespace polyte::cli
