// The command line: one file a verb, listed in main.cc. A verb adds its options to its CLI11 subcommand and returns
// what to run; errors are exceptions, main() turns them into messages and exit statuses (docs/command-line.md).
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "driver/build_kernel.h"
#include "runtime/fill.h"
#include "runtime/tensor.h"

namespace polyte::cli {

// Adds a verb to the application. `status` is what the process returns when the verb does not throw.
using AddVerb = void (*)(CLI::App& app, int& status);
void add_op(CLI::App& app, int& status);
void add_interpret(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_options(CLI::App& app, int& status);
void add_compile(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_inspect(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_conformance(CLI::App& app, int& status);
void add_fuzz(CLI::App& app, int& status);
void add_ops(CLI::App& app, int& status);

// What was wrong with the command line, in one line.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

// ---- options that several verbs share

struct ScheduleOptions {  // which arm, which script, how strictly
  std::string scheduler = "poly";
  std::vector<std::string> scripts;
  std::vector<std::string> params;  // Mr=14: of the scripts
  bool strict = false, exact = false, no_proof = false;
};
void add_schedule_options(CLI::App& verb, ScheduleOptions& options);
void add_param_option(CLI::App& verb, std::vector<std::string>& params);
// The script of a file, its params filled.
schedule::Script load_script(const std::string& path, const std::vector<std::string>& params);
// Options of a kernel whose Program is `program`; `script` receives the parsed file that applies to it, if any.
driver::KernelOptions kernel_options(const ScheduleOptions& options, const ir::Program& program,
                                     schedule::Script& script);

struct OperatorOptions {           // where a Program comes from
  std::string source;              // a file, or index notation
  std::vector<std::string> shape;  // m=512,n=512
  std::string dtype = "f32";
};
void add_operator_options(CLI::App& verb, OperatorOptions& options);
// Every program of the file with sizes bound, or the one of the notation. UserError lists all sizes that lack.
std::vector<std::shared_ptr<const ir::Program>> load_programs(const OperatorOptions& options);
std::shared_ptr<const ir::Program> load_program(const OperatorOptions& options);  // exactly one
// The same without binding sizes: for proofs. Of several programs the one called `name`.
std::shared_ptr<const ir::Program> load_symbolic_program(const OperatorOptions& options, const std::string& name);
// UserError(Usage) that lists the sizes of the Program which are not in `known`.
void require_sizes(const ir::Program& program, const ir::Values& known);

struct DataOptions {                // inputs, fills, outputs
  std::vector<std::string> inputs;  // in.npz, NAME=@x.npy
  std::string fill = "normal";
  std::string output;
  std::string expect;
  double rtol = 0, atol = 0;
};
void add_data_options(CLI::App& verb, DataOptions& options);
struct NamedBuffer {
  std::string name;
  bool input = false, output = false;
  runtime::Tensor tensor;
};
// Fills inputs from files or by `fill`; unknown names and wrong types or shapes are listed together.
void fill_buffers(const DataOptions& options, std::vector<NamedBuffer>& buffers);
// Writes -o, compares --expect. Returns the exit status: 0, or 1 with the mismatches on stderr.
int finish_outputs(const DataOptions& options, const std::vector<NamedBuffer>& buffers);

codegen::Target target_from(const std::string& text);  // "cpu:native", "cpu:skylake", "skylake"

std::string read_text_file(const std::string& path);  // UserError(InvalidInput)
void make_folder(const std::string& path);            // with those above it; UserError(InvalidInput)
void write_file(const std::string& path, const std::string& contents);

// ---- the stages that --emit shows, for one kernel; the text with a final newline
std::string emit_kernel(const std::string& kind, const driver::BuiltKernel& kernel, const codegen::Target& target);
const std::vector<std::string>& emit_kinds();

}  // namespace polyte::cli
