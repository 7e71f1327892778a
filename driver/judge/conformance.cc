#include "driver/judge/conformance.h"

#include <fnmatch.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "driver/compile/parallel_jobs.h"
#include "driver/package/package_model.h"
#include "frontend/onnx_import.h"
#include "runtime/compare.h"
#include "runtime/session.h"

namespace polyte::driver {
namespace {

namespace fs = std::filesystem;

struct DataSet {
  std::string name;
  std::vector<runtime::Tensor> inputs, outputs;
};

// The defaults are those of ONNX's own runner of these tests.
runtime::Tolerance tolerance_of(const fs::path& folder) {
  runtime::Tolerance tolerance{1e-3, 1e-7};
  const fs::path file = folder / "data.json";
  if (!fs::exists(file)) return tolerance;
  std::ifstream stream(file);
  const nlohmann::json data = nlohmann::json::parse(stream, nullptr, false);
  if (data.is_object()) {
    tolerance.rtol = data.value("rtol", tolerance.rtol);
    tolerance.atol = data.value("atol", tolerance.atol);
  }
  return tolerance;
}

runtime::Tensor to_runtime(const graph::Tensor& tensor) {
  runtime::Tensor result(tensor.type.dtype, tensor.type.shape);
  std::ranges::copy(*tensor.bytes, result.raw().begin());
  return result;
}

fs::path tensor_file(const fs::path& set, const std::string& kind, std::size_t i) {
  return set / (kind + "_" + std::to_string(i) + ".pb");
}

// Those that are no longer inputs of what was compiled are left out.
std::vector<runtime::Tensor> read_tensors(const fs::path& set, const std::string& kind,
                                          const std::set<std::size_t>& left_out) {
  std::vector<runtime::Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path file = tensor_file(set, kind, i);
    if (!fs::exists(file)) return tensors;
    if (!left_out.contains(i)) tensors.push_back(to_runtime(frontend::read_tensor_file(file)));
  }
}

// Sorted, for a directory has no order, and the outcome names the first set that differs.
std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string type_text(const runtime::Tensor& tensor) {
  return std::string(to_string(tensor.dtype())) + runtime::to_string(tensor.shape());
}

// What a model declares of its inputs or outputs and the stored tensors do not keep; shapes of
// outputs are compared when they are there.
void list_contradictions(const graph::Graph& graph, const std::vector<graph::ValueId>& declared,
                         const std::vector<runtime::Tensor>& stored, bool shapes,
                         std::vector<std::string>& found) {
  for (std::size_t i = 0; i < std::min(declared.size(), stored.size()); ++i) {
    const auto& value = graph.value(declared[i]);
    const bool same_shape = !shapes || std::ranges::equal(value.type.shape, stored[i].shape());
    if (value.type.dtype == stored[i].dtype() && same_shape) continue;
    found.push_back("'" + value.name + "' is stored as " + type_text(stored[i]) +
                    ", the model declares " + to_string(value.type));
  }
}

std::string contradictions(const graph::Graph& graph, const DataSet& set) {
  std::vector<std::string> found;
  list_contradictions(graph, graph.inputs, set.inputs, true, found);
  list_contradictions(graph, graph.outputs, set.outputs, false, found);
  std::string text;
  for (const std::string& one : found) text += (text.empty() ? "" : "; ") + one;
  return text.empty() ? text : "the data contradicts the model: " + text;
}

// Empty if all outputs are as expected.
std::string difference(const runtime::Session& session, const DataSet& set,
                       const runtime::Tolerance& tolerance) {
  if (set.inputs.size() != session.inputs().size()) {
    return "has " + std::to_string(set.inputs.size()) + " inputs, the model takes " +
           std::to_string(session.inputs().size());
  }
  const std::vector<runtime::Tensor> got = session.run(set.inputs);
  if (got.size() != set.outputs.size())
    return "has " + std::to_string(set.outputs.size()) + " outputs, the model gives " +
           std::to_string(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const runtime::Comparison comparison = runtime::compare(got[i], set.outputs[i], tolerance);
    if (!comparison.equal) return "output " + std::to_string(i) + ": " + comparison.message;
  }
  return "";
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ';');
  return text;
}

// The model for the values that this set has for the inputs that decide shapes; `data` receives the
// tensors of the inputs that it still has, and the expected ones.
// Inputs that became constants are no inputs of what is compiled, and are left out by position: the
// files are numbered as the model's inputs are.
frontend::Imported import_for(const fs::path& folder, const fs::path& set, DataSet& data) {
  std::map<std::string, std::size_t> positions;
  frontend::ImportOptions options;
  options.offer = [&](const std::string& name,
                      std::size_t position) -> std::optional<graph::Tensor> {
    const fs::path file = tensor_file(set, "input", position);
    if (!fs::exists(file)) return std::nullopt;
    positions[name] = position;
    return frontend::read_tensor_file(file);
  };
  frontend::Imported imported = frontend::import_onnx(folder / "model.onnx", options);
  std::set<std::size_t> constants;
  for (const std::string& name : imported.specialised) constants.insert(positions.at(name));
  data = {set.filename().string(), read_tensors(set, "input", constants),
          read_tensors(set, "output", {})};
  return imported;
}

std::shared_ptr<const runtime::Artifact> compile_case(graph::Graph graph,
                                                      const codegen::Target& target,
                                                      const CaseOptions& how, CaseResult& result,
                                                      std::string& notes) {
  // One job: cases are compiled side by side already. Few steps for the second judge, since the
  // case itself executes the kernels.
  ModelOptions options;
  options.strict = how.strict;
  options.emulated = how.emulator.has_value();
  options.scheduler = result.scheduler;
  options.jobs = 1;
  options.judge_steps = 20'000;
  PackagedModel model = package_model(std::move(graph), target, options);
  for (const BuiltKernel& kernel : model.kernels)
    ++(kernel.second_judge.ran ? result.executed : result.not_executed);
  for (const std::string& note : model.notes) notes += (notes.empty() ? "" : "; ") + one_line(note);
  return runtime::Artifact::from_parts(std::move(model.parts));
}

// Whether a session was compiled for the sizes of this graph: each set may bind symbols to its own.
// Sets of the same sizes share one session, unless values of inputs are part of what was compiled.
bool fits(const runtime::Session& session, const graph::Graph& graph) {
  return std::ranges::equal(session.inputs(), graph.inputs,
                            [&](const runtime::TensorSpec& spec, graph::ValueId id) {
                              const graph::TensorType& type = graph.value(id).type;
                              return spec.dtype == type.dtype && spec.shape == type.shape;
                            });
}

// All sets of a case, until one differs.
void compile_and_compare(const fs::path& folder, const codegen::Target& target,
                         const CaseOptions& options, CaseResult& result) {
  std::optional<runtime::Session> session;
  std::string notes;
  std::vector<std::string> specialised;
  const runtime::SessionOptions how{.threads = 2, .emulator = options.emulator};
  for (const fs::path& path : data_sets(folder)) {
    DataSet set;
    frontend::Imported imported = import_for(folder, path, set);
    const bool reused = session && specialised.empty() && imported.specialised.empty() &&
                        fits(*session, imported.graph);
    specialised = imported.specialised;
    result.detail = contradictions(imported.graph, set);
    if (!result.detail.empty()) {
      result.outcome = CaseOutcome::Unsupported;
      return;
    }
    if (!reused)
      session.emplace(compile_case(std::move(imported.graph), target, options, result, notes), how);
    result.steps = session->steps();
    const std::string wrong = difference(*session, set, tolerance_of(folder));
    if (wrong.empty()) continue;
    result.outcome = CaseOutcome::Fail;
    result.detail = set.name + ": " + wrong;
    return;
  }
  result.detail = notes;
}

// What the importer does not take is unsupported; any other error is one of ours.
CaseResult run_case(const fs::path& folder, Scheduler scheduler, const codegen::Target& target,
                    const CaseOptions& options) {
  const std::string name =
      folder.parent_path().filename().string() + "/" + folder.filename().string();
  CaseResult result{name, scheduler, CaseOutcome::Pass, "", {}};
  try {
    compile_and_compare(folder, target, options, result);
  } catch (const UserError& e) {
    const bool refused = e.status() == ExitStatus::Unsupported;
    return {name,
            scheduler,
            refused ? CaseOutcome::Unsupported : CaseOutcome::Error,
            one_line(e.what()),
            {}};
  } catch (const std::exception& e) {
    return {name, scheduler, CaseOutcome::Error, one_line(e.what()), {}};
  }
  return result;
}

}  // namespace

std::string to_string(CaseOutcome outcome) {
  constexpr const char* kNames[] = {"pass", "fail", "unsupported", "error"};
  return kNames[static_cast<int>(outcome)];
}

// A case may be reached by two of the folders, or by a link; canonical paths are then equal,
// and each is run once.
std::vector<fs::path> find_cases(const std::vector<std::string>& folders,
                                 const std::string& filter) {
  std::vector<fs::path> cases;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder))
      throw UserError(ExitStatus::InvalidInput, folder + ": not a folder");
    if (fs::exists(fs::path(folder) / "model.onnx")) {
      cases.push_back(fs::canonical(folder));
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "model.onnx")
        cases.push_back(fs::canonical(entry.path().parent_path()));
    }
  }
  std::ranges::sort(cases);
  const auto repeated = std::ranges::unique(cases);
  cases.erase(repeated.begin(), repeated.end());
  std::erase_if(cases, [&](const fs::path& path) {
    return fnmatch(filter.c_str(), path.filename().c_str(), 0) != 0;
  });
  return cases;
}

std::vector<CaseResult> run_cases(const std::vector<fs::path>& cases,
                                  const std::vector<Scheduler>& schedulers,
                                  const codegen::Target& target, int jobs,
                                  const CaseOptions& options) {
  std::vector<CaseResult> results(cases.size() * schedulers.size());
  run_jobs(jobs, results.size(), [&](std::size_t i) {
    results[i] =
        run_case(cases[i / schedulers.size()], schedulers[i % schedulers.size()], target, options);
  });
  return results;
}

}  // namespace polyte::driver
