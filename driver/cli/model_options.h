// What the verbs that take a model share.
#pragma once

#include "driver/cli/cli.h"
#include "driver/compile/model.h"
#include "frontend/onnx_import.h"
#include "runtime/artifact.h"
#include "runtime/cuda_options.h"

namespace polyte::driver {
struct PackagedModel;
}  // namespace polyte::driver

namespace polyte::cli {

struct ModelVerbOptions {
  ScheduleOptions schedule;
  std::vector<std::string> group_schedulers, shapes, values;
  std::string target = "cpu:native", layout = "auto", convolutions = "auto";
  int opt_level = 2;
  int schedule_threads = 0;  // that schedules are made for; 0: as many as processors
  std::string fusion;        // a file
  // A file of public keys: of run.
  std::string require_signature;
  runtime::CudaOptions cuda;  // which GPU: of run, bench and compare; of compile for cuda:native
  bool emulate = false;  // of a GPU: code that emulates its threads on a CPU: of compile and run
};
void add_device_options(const Verb& verb, runtime::CudaOptions& options);
void add_model_options(const Verb& verb, ModelVerbOptions& options);
// A range of a size, --shape N=1..64, is open_ranges' where it is taken, and else
// refused (UserError(Usage)).
enum class Ranges { Refused, Taken };
frontend::ImportOptions import_options(const ModelVerbOptions& options,
                                       Ranges ranges = Ranges::Refused);
// Of --shape: x=1x3x224x224.
std::pair<std::string, graph::Dims> parse_shape(const std::string& item);
std::vector<driver::OpenSymbol> open_ranges(const ModelVerbOptions& options);  // --shape N=1..64
// UserError(Usage): of a GPU only.
void check_emulate(bool emulate, const codegen::Target& target);
driver::ModelOptions model_options(const ModelVerbOptions& options);
// The inputs that --value has made constants, for the manifest of the artifact.
std::vector<runtime::FixedInput> fixed_inputs(const frontend::ImportOptions& options);

graph::Tensor to_graph(const runtime::Tensor& tensor);

// The part of them that decides which groups a model has: --value, --fusion, --layout and
// --opt-level (--shape is the verb's own).
void add_group_options(const Verb& verb, ModelVerbOptions& options);

bool is_model(const std::string& path);     // by its name: MODEL.onnx
bool is_artifact(const std::string& path);  // by its first bytes

struct LoadedModel {
  std::shared_ptr<const runtime::Artifact> artifact;
  std::vector<std::string> specialised;  // inputs of the file that are constants now
  std::vector<std::string> notes;
  // Digest of what was compiled here (scheduling_report.h); empty of an artifact.
  std::string loops;
};
// What a caller of load_model takes part in, where it is given an ONNX file.
struct LoadSteps {
  frontend::Offer offer;  // values of inputs that decide shapes
  // After the import, before the compile; `files` are those of external data.
  std::function<void(const frontend::Imported& imported, const std::vector<std::string>& files)>
      imported;
  std::function<void(const driver::PackagedModel& model)> packaged;  // what was compiled
};
// An artifact as it is, or an ONNX file compiled in this process.
LoadedModel load_model(const std::string& path, const ModelVerbOptions& options,
                       const LoadSteps& steps = {});
// The files that these options read.
void add_files(const ModelVerbOptions& options, std::vector<std::string>& files);

// The Program of one group of an ONNX file: of `group`, or, where that is empty, of the one that
// the script's header names. The script, if any, is given the group's name. UserError(Usage) lists
// the groups where there is none such.
struct GroupRequest {
  std::string model, group, script_origin;
  const ModelVerbOptions& options;
};
std::shared_ptr<const ir::Program> load_group(const GroupRequest& request,
                                              schedule::Script* script);

// The groups of an ONNX file by every scheduler, with one thread and two, and in the interpreter:
// equal bits, no fallback. Returns the exit status.
int check_bits(const std::string& path, const ModelVerbOptions& model, const std::string& target,
               bool json);

// An ONNX file in the interpreter, without graph passes. Returns the exit status.
int interpret_model(const std::string& path, const ModelVerbOptions& model,
                    const DataOptions& data);

}  // namespace polyte::cli
