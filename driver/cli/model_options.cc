// Options of the verbs that take a model, and the way from a file to a compiled model or a session.
#include "driver/cli/model_options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>

#include "driver/cli/file_hints.h"
#include "driver/cli/output_files.h"
#include "driver/cli/scheduling_report.h"
#include "driver/compile/import_network.h"
#include "driver/package/package_model.h"
#include "frontend/onnx_import.h"
#include "runtime/npy.h"
#include "support/nearest_word.h"

namespace polyte::cli {
namespace {

// At the first '=': a value may contain others.
std::pair<std::string, std::string> key_value(const std::string& option, const std::string& item) {
  const std::size_t at = item.find('=');
  if (at == std::string::npos || at == 0) {
    throw UserError(ExitStatus::Usage, option + " " + item + ": expected NAME=VALUE");
  }
  return {item.substr(0, at), item.substr(at + 1)};
}

// That no name is given twice by one option.
void check_once(const std::string& option, const std::vector<std::string>& items) {
  std::set<std::string> names;
  for (const std::string& item : items) {
    const std::string name = key_value(option, item).first;
    if (!names.insert(name).second)
      throw UserError(ExitStatus::Usage, option + " " + item + ": '" + name + "' is given twice");
  }
}

// Sizes with a separator between them, 1x3x224x224.
// Also of ranges, whose separator is "..". Commas in place of x are a common mistake.
graph::Dims parse_sizes(const std::string& option, const std::string& text,
                        const std::string& separator) {
  graph::Dims dims;
  std::size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 0) {
      std::string near = text;
      std::ranges::replace(near, ',', 'x');
      const bool commas =
          near != text && near.find_first_not_of("0123456789x") == std::string::npos;
      throw UserError(
          ExitStatus::Usage,
          option +
              ": expected sizes such as 1x3x224x224, or a range of a symbol, 1..64 or 1..16..64" +
              (commas ? ", did you mean '" + near + "'?" : ""));
    }
    dims.push_back(value);
    begin = end + separator.size();
  }
  return dims;
}

bool is_range(const std::string& text) { return text.find("..") != std::string::npos; }

}  // namespace

// Copied: a graph's constants are shared and immutable.
graph::Tensor to_graph(const runtime::Tensor& tensor) {
  const auto raw = tensor.raw();
  return {{tensor.dtype(), tensor.shape()},
          std::make_shared<const graph::Bytes>(raw.begin(), raw.end())};
}

namespace {

// 3,4 or @x.npy
graph::Tensor parse_value(const std::string& item, const std::string& text) {
  if (!text.empty() && text[0] == '@') {
    return to_graph(runtime::read_npy(text.substr(1)));
  }
  graph::Dims numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end) {
      throw UserError(ExitStatus::Usage,
                      "--value " + item + ": expected whole numbers 1,2,3 or @FILE.npy");
    }
    numbers.push_back(value);
    begin = end + 1;
  }
  return graph::make_int64s(numbers);
}

}  // namespace

void add_model_options(const Verb& verb, ModelVerbOptions& options) {
  add_schedule_options(verb, options.schedule);
  verb.option("--schedule", options.group_schedulers,
              "GROUP=SCHEDULER: another scheduler for one group; repeatable");
  verb.option("--shape", options.shapes,
              "NAME=1x3x224x224: binds an input's shape, or a symbol: N=4; N=1..8..64: the least, "
              "typical and most that an "
              "open one is; repeatable");
  verb.option("--target", options.target, kTargetHelp).shows_default();
  add_group_options(verb, options);
}

void add_device_options(const Verb& verb, runtime::CudaOptions& options) {
  verb.option("--device", options.device, "which GPU, by the driver's number")
      .within(0, 1023)
      .shows_default();
  verb.option("--driver", options.driver,
              "the library of the CUDA driver, where it is not libcuda.so.1");
}

void add_group_options(const Verb& verb, ModelVerbOptions& options) {
  verb.option("--value", options.values,
              "NAME=1,2,3 or NAME=@x.npy: binds an input to a constant; repeatable");
  verb.option("--fusion", options.fusion,
              "a file that says what is fused and what is not (docs/fusion.md)");
  verb.option("--layout", options.layout,
              "auto: channels in blocks where that pays; plain; blocked: wherever it can be")
      .one_of({"auto", "plain", "blocked"})
      .shows_default();
  verb.option("--convolutions", options.convolutions,
              "auto: windows of 3 by Winograd's method where that pays; direct; winograd: wherever "
              "it can be")
      .one_of({"auto", "direct", "winograd"})
      .shows_default();
  verb.option("--opt-level", options.opt_level, "0: neither graph passes nor fusion")
      .within(0, 3)
      .shows_default();
}

std::pair<std::string, graph::Dims> parse_shape(const std::string& item) {
  const auto [name, value] = key_value("--shape", item);
  return {name, parse_sizes("--shape " + item, value, "x")};
}

// Sizes only; ranges are read by open_ranges where the verb takes them.
frontend::ImportOptions import_options(const ModelVerbOptions& options, Ranges ranges) {
  frontend::ImportOptions result;
  check_once("--shape", options.shapes);
  check_once("--value", options.values);
  for (const std::string& item : options.shapes) {
    const bool range = is_range(key_value("--shape", item).second);
    if (range && ranges == Ranges::Refused)
      throw UserError(ExitStatus::Usage,
                      "--shape " + item + ": only what is compiled takes a range, expected a size");
    if (range) continue;
    const auto [name, shape] = parse_shape(item);
    result.shapes[name] = shape;
  }
  for (const std::string& item : options.values) {
    const auto [name, value] = key_value("--value", item);
    result.values[name] = parse_value(item, value);
  }
  return result;
}

// 1..64 has no typical size in the middle: its upper end counts as typical as well.
std::vector<driver::OpenSymbol> open_ranges(const ModelVerbOptions& options) {
  std::vector<driver::OpenSymbol> ranges;
  for (const std::string& item : options.shapes) {
    const auto [name, value] = key_value("--shape", item);
    if (!is_range(value)) continue;
    const graph::Dims sizes = parse_sizes("--shape " + item, value, "..");
    if (sizes.size() != 2 && sizes.size() != 3)
      throw UserError(ExitStatus::Usage,
                      "--shape " + item + ": expected LEAST..MOST or LEAST..TYPICAL..MOST");
    ranges.push_back({name, sizes.front(), sizes[1], sizes.back()});
  }
  return ranges;
}

void check_emulate(bool emulate, const codegen::Target& target) {
  if (emulate && target.kind != TargetKind::Cuda)
    throw UserError(ExitStatus::Usage, "--emulate runs the threads of a GPU, the target is " +
                                           target.machine.cpu +
                                           ": give --target cuda:h100 or another");
}

driver::ModelOptions model_options(const ModelVerbOptions& options) {
  driver::ModelOptions result;
  result.scheduler = *driver::scheduler_from_string(options.schedule.scheduler);
  result.strict = options.schedule.strict;
  result.exact = options.schedule.exact;
  if (options.schedule.no_proof) result.proof = schedule::ProofLevel::Off;
  result.second_judge = !options.schedule.no_second_judge;
  result.emulated = options.emulate;
  result.templates = schedule::load_templates(options.schedule.templates);
  result.optimize = result.fuse = options.opt_level > 0;
  result.layout = *graph::layout_from_string(options.layout);
  result.convolutions = *graph::convolutions_from_string(options.convolutions);
  if (!options.fusion.empty()) {
    const driver::FusionFile file = driver::read_fusion_file(options.fusion);
    result.fusion = file.requests;
    result.limits.temporaries = file.temporaries.value_or(result.limits.temporaries);
    result.limits.recompute = file.recompute.value_or(result.limits.recompute);
  }
  check_once("--schedule", options.group_schedulers);
  for (const std::string& item : options.group_schedulers) {
    const auto [group, name] = key_value("--schedule", item);
    const std::optional<driver::Scheduler> scheduler = driver::scheduler_from_string(name);
    if (!scheduler)
      throw UserError(ExitStatus::Usage,
                      "--schedule " + item + ": expected naive, isl, poly or template" +
                          did_you_mean(name, {"naive", "isl", "poly", "template"}));
    result.group_schedulers[group] = *scheduler;
  }
  for (const std::string& path : options.schedule.scripts) {
    result.scripts.push_back({path, load_script(path, options.schedule.params)});
  }
  return result;
}

std::vector<runtime::FixedInput> fixed_inputs(const frontend::ImportOptions& options) {
  std::vector<runtime::FixedInput> fixed;
  for (const auto& [name, value] : options.values)
    fixed.push_back({{name, value.type.dtype, value.type.shape},
                     runtime::digest_of({value.bytes->data(), value.bytes->size()})});
  return fixed;
}

void add_files(const ModelVerbOptions& options, std::vector<std::string>& files) {
  add_files(options.schedule, files);
  if (!options.fusion.empty()) files.push_back(options.fusion);
  for (const std::string& item : options.values) {
    const std::string value = key_value("--value", item).second;
    if (value.starts_with("@")) files.push_back(value.substr(1));
  }
}

bool is_model(const std::string& path) { return path.ends_with(".onnx"); }

// By its content, whatever it is called: an artifact is a zip file.
bool is_artifact(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[2] = {};
  file.read(magic, 2);
  return file.gcount() == 2 && magic[0] == 'P' && magic[1] == 'K';
}

// As scheduling sees the group first: groups that scheduling would split are still whole.
std::shared_ptr<const ir::Program> load_group(const GroupRequest& request,
                                              schedule::Script* script) {
  driver::ImportedNetwork imported = driver::import_network(
      request.model, import_options(request.options, Ranges::Taken), open_ranges(request.options));
  const driver::PartitionedModel model = driver::partition_model(
      std::move(imported.network),
      target_from(request.options.target, request.options.schedule_threads).machine,
      model_options(request.options));
  // The group is the one that is asked for, or the one that the script's header names. Where no
  // group has that name but one has the script's digest, the message says which.
  const bool by_header = request.group.empty() && script;
  const std::string name = by_header ? script->program : request.group;
  std::string problem = missing_kernel(model, name);
  const driver::GroupPlan* found = nullptr;
  for (const driver::GroupPlan& group : model.groups) {
    if (group.name == name) found = &group;
    if (problem.empty() || !by_header || group.view || script->digest.empty()) continue;
    if (ir::digest(group.expansion.program) == script->digest)
      problem += "; --group " + group.name + " has the digest of this script";
  }
  if (!problem.empty())
    throw UserError(ExitStatus::Usage,
                    (by_header ? request.script_origin : "--group " + name) + ": " + problem);
  // A script of another Program keeps the name that its header says: it is stale.
  const ir::Program& program = found->expansion.program;
  const bool fits = script && (script->digest.empty() || script->digest == ir::digest(program) ||
                               script->digest == ir::digest_of_text(program));
  if (fits) script->program = name;
  return std::make_shared<const ir::Program>(program);
}

LoadedModel load_model(const std::string& path, const ModelVerbOptions& options,
                       const LoadSteps& steps) {
  LoadedModel result;
  if (is_artifact(path)) {
    require_model_file(path);
    result.artifact = runtime::Artifact::open(path, options.require_signature);
    return result;
  }
  if (!options.require_signature.empty())
    throw UserError(ExitStatus::Usage,
                    "--require-signature: " + path + " is no artifact; only artifacts are signed");
  if (!path.ends_with(".program")) require_model_file(path);
  if (path.ends_with(".polyte") && std::ifstream(path).good())
    throw UserError(ExitStatus::Artifact,
                    path + ": not an artifact: it does not begin as a zip file");
  if (path.ends_with(".program"))
    throw UserError(ExitStatus::Usage,
                    path + ": Program text, expected an artifact or an ONNX file; see polyte op");
  const codegen::Target target =
      target_from(options.target, options.schedule_threads, options.cuda);
  check_emulate(options.emulate, target);
  frontend::ImportOptions import = import_options(options);
  std::vector<std::string> files;
  import.offer = steps.offer;
  import.reads = [&](const std::filesystem::path& file) { files.push_back(file.string()); };
  frontend::Imported imported = frontend::import_onnx(path, import);
  if (steps.imported) steps.imported(imported, files);
  result.notes = std::move(imported.notes);
  result.specialised = std::move(imported.specialised);
  driver::PackagedModel model =
      driver::package_model(std::move(imported.graph), target, model_options(options));
  result.notes.insert(result.notes.end(), model.notes.begin(), model.notes.end());
  result.loops = loops_digest(model.kernels);
  if (steps.packaged) steps.packaged(model);
  result.artifact = runtime::Artifact::from_parts(std::move(model.parts));
  return result;
}

}  // namespace polyte::cli
