// polyte run: executes an artifact, or an ONNX file compiled on the spot.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <sstream>

#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/cli/profile.h"
#include "driver/cli/run_sizes.h"
#include "driver/cli/thread_order.h"
#include "runtime/session.h"

namespace polyte::cli {
namespace {

struct RunOptions {
  std::string model;
  ModelVerbOptions verb;
  DataOptions data;
  ProfileOptions profile;
  std::string order;   // of --emulate
  std::string labels;  // a file: of --print-top
  int threads = 0, print_top = 0;
};

// Of a row, the last dimension: its elements begin at `first`.
void print_top(const runtime::Tensor& tensor, std::int64_t first, std::int64_t length, int count,
               const std::vector<std::string>& labels) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(length));
  std::iota(order.begin(), order.end(), first);
  auto value = [&](std::int64_t i) {  // what is not a number comes last
    const double x = runtime::element_as_double(tensor.dtype(), tensor.data(), i);
    return std::isnan(x) ? -std::numeric_limits<double>::infinity() : x;
  };
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    const double x = value(a), y = value(b);
    return x != y ? x > y : a < b;
  });
  for (int i = 0; i < count && i < static_cast<int>(order.size()); ++i) {
    const std::int64_t at = order[static_cast<std::size_t>(i)];
    std::cout << "  " << at - first << "  "
              << runtime::element_text(tensor.dtype(), tensor.data(), at);
    if (!labels.empty()) std::cout << "  " << labels[static_cast<std::size_t>(at - first)];
    std::cout << "\n";
  }
}

// The largest elements of each row: of each image of a batch.
void print_top(const NamedBuffer& buffer, int count, const std::vector<std::string>& labels) {
  const runtime::Tensor& tensor = buffer.tensor;
  const std::int64_t length = tensor.shape().empty() ? 1 : tensor.shape().back();
  const std::int64_t rows = length > 0 ? tensor.elements() / length : 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::cout << buffer.name;
    if (rows > 1) std::cout << ", row " << row;
    std::cout << "\n";
    print_top(tensor, row * length, length, count, labels);
  }
}

// One a line, as many as each row has elements.
std::vector<std::string> read_labels(const RunOptions& options, const runtime::Session& session) {
  if (options.labels.empty()) return {};
  std::istringstream stream(read_text_file(options.labels));
  std::vector<std::string> labels, problems;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(line);
  }
  for (const runtime::TensorSpec& spec : session.outputs()) {
    const std::int64_t length = spec.shape.empty() ? 1 : spec.shape.back();
    if (length != static_cast<std::int64_t>(labels.size()))
      problems.push_back(
          "--labels " + options.labels + ": has " + std::to_string(labels.size()) +
          " lines, expected one for each element of a row of '" + spec.name + "', " +
          (length == runtime::kOpenExtent ? "whose length is open" : std::to_string(length)));
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return labels;
}

std::string arm_text(const ModelVerbOptions& options) {
  return options.schedule.scheduler +
         (options.group_schedulers.empty() && options.schedule.scripts.empty() ? "" : " and own");
}

// How to compile says nothing to an artifact: that is refused, not ignored.
void refuse_compile_options(const RunOptions& options, bool has_open_sizes) {
  const ModelVerbOptions &given = options.verb, none;
  std::string names;
  auto add = [&](bool is_given, const char* name) {
    if (is_given) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(given.schedule.scheduler != none.schedule.scheduler, "--scheduler");
  add(!given.schedule.scripts.empty(), "--script");
  add(given.schedule.strict, "--strict");
  add(given.schedule.exact, "--exact");
  add(given.schedule.no_proof, "--no-proof");
  add(given.schedule.no_second_judge, "--no-second-judge");
  add(!given.group_schedulers.empty(), "--schedule");
  add(!given.shapes.empty() && !has_open_sizes, "--shape");
  add(!given.values.empty(), "--value");
  add(given.target != none.target, "--target");
  add(given.layout != none.layout, "--layout");
  add(given.convolutions != none.convolutions, "--convolutions");
  add(given.opt_level != none.opt_level, "--opt-level");
  add(given.fusion != none.fusion, "--fusion");
  if (!names.empty())
    throw UserError(ExitStatus::Usage,
                    names + ": " + options.model + " is an artifact, which is compiled already");
}

std::vector<std::string> names_of(const frontend::Imported& imported) {
  std::vector<std::string> names;
  for (graph::ValueId id : imported.graph.inputs) names.push_back(imported.graph.value(id).name);
  names.insert(names.end(), imported.specialised.begin(), imported.specialised.end());
  return names;
}

std::vector<std::string> output_names_of(const frontend::Imported& imported) {
  std::vector<std::string> names;
  for (graph::ValueId id : imported.graph.outputs) names.push_back(imported.graph.value(id).name);
  return names;
}

// Values of the inputs that decide shapes are those of -i, a nameless one's of the first. What
// lacks or would be overwritten is said before the compile.
// A model that is compiled here is compiled for the inputs of this run.
LoadedModel load_for(const RunOptions& options, GivenTensors& given) {
  LoadSteps steps;
  steps.offer = [&](const std::string& name, std::size_t position) {
    const auto found = std::ranges::find_if(given, [&](const GivenTensor& one) {
      return one.name == name || (one.name.empty() && position == 0);
    });
    return found == given.end() ? std::nullopt : std::optional(to_graph(found->read()));
  };
  steps.imported = [&](const frontend::Imported& imported, const std::vector<std::string>& files) {
    check_output(options.data, files);
    name_inputs(names_of(imported), given);
    check_input_names(names_of(imported), given);
    check_outputs(options.data, output_names_of(imported));
    require_inputs(options.data, names_of(imported), given);
  };
  return load_model(options.model, options.verb, steps);
}

// Values that an artifact was compiled for may be given again, but not others. Those that
// are given are named.
std::vector<std::string> check_fixed(const runtime::ArtifactManifest& manifest,
                                     const GivenTensors& given) {
  std::vector<std::string> names, problems;
  for (const runtime::FixedInput& fixed : manifest.fixed) {
    const auto found = std::ranges::find(given, fixed.tensor.name, &GivenTensor::name);
    if (found == given.end()) continue;
    names.push_back(fixed.tensor.name);
    if (found->dtype != fixed.tensor.dtype || found->shape != fixed.tensor.shape ||
        runtime::digest_of(found->read().raw()) != fixed.xxh3_128)
      problems.push_back("input '" + fixed.tensor.name +
                         "' has another value than the one that the artifact was " +
                         "compiled for; compile with --value " + fixed.tensor.name + "=...");
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return names;
}

void check_files(const RunOptions& options) {
  std::vector<std::string> files = {options.model};
  add_files(options.verb, files);
  check_output(options.data, files);
  add_files(options.data, files);
  if (!options.profile.trace.empty())
    check_output_file("--trace " + options.profile.trace, options.profile.trace, files);
}

// The session's own inputs, then those that the model was compiled for where they are given again.
std::vector<NamedBuffer> input_buffers(const runtime::Session& session,
                                       const std::vector<std::int64_t>& sizes,
                                       const LoadedModel& model, const GivenTensors& given) {
  std::vector<NamedBuffer> buffers;
  for (const runtime::TensorSpec& spec : session.inputs())
    buffers.push_back({spec.name, true, false, runtime::Tensor(spec.dtype, shape_at(spec, sizes))});
  for (const GivenTensor& one : given)
    if (std::ranges::find(model.specialised, one.name) != model.specialised.end())
      buffers.push_back({one.name, true, false, runtime::Tensor(one.dtype, one.shape)});
  return buffers;
}

// Of several runs after one that warms the caches, the one of the median time.
// A whole run, not medians step by step, so that its steps add up to its time.
runtime::RunProfile profile_of(runtime::Session& session,
                               const std::vector<runtime::TensorView>& inputs,
                               const std::vector<runtime::TensorView>& outputs) {
  constexpr std::size_t kRuns = 5;
  session.run(inputs, outputs);
  std::vector<std::pair<std::int64_t, runtime::RunProfile>> profiles;
  for (std::size_t i = 0; i < kRuns; ++i) {
    runtime::RunProfile profile = session.profile(inputs, outputs);
    std::int64_t total = 0;
    for (const runtime::Span& span : profile.steps) total += span.nanoseconds();
    profiles.emplace_back(total, std::move(profile));
  }
  std::ranges::sort(profiles, {}, &std::pair<std::int64_t, runtime::RunProfile>::first);
  std::cerr << "the median of " << kRuns << " runs after one to warm up, "
            << milliseconds(profiles.front().first / 1e6) << " to "
            << milliseconds(profiles.back().first / 1e6) << "\n";
  return std::move(profiles[kRuns / 2].second);
}

void execute(const RunOptions& options, runtime::Session& session,
             const std::vector<NamedBuffer>& buffers, const std::vector<NamedBuffer>& results) {
  std::vector<runtime::TensorView> inputs, outputs;
  for (std::size_t i = 0; i < session.inputs().size(); ++i)
    inputs.push_back(buffers[i].tensor.view());
  for (const NamedBuffer& buffer : results) outputs.push_back(buffer.tensor.view());
  if (options.profile.is_wanted())
    report_profile(session, profile_of(session, inputs, outputs), options.profile);
  else
    session.run(inputs, outputs);
}

std::string place_text(const runtime::Session& session, bool is_emulated) {
  if (is_emulated) return " by the emulator, no fault";
  const polyte_dl_device device = session.device();
  if (device.device_type == POLYTE_DL_CUDA)
    return " on CUDA device " + std::to_string(device.device_id);
  return " by " + threads_text(session.threads());
}

int run_run(const RunOptions& options) {
  const runtime::EmulatorOptions emulation = emulator_options(options.order, options.verb.emulate);
  if (!options.labels.empty() && options.print_top == 0)
    throw UserError(ExitStatus::Usage, "--labels " + options.labels +
                                           ": names what --print-top prints, which is not given");
  check_files(options);
  GivenTensors given = read_inputs(options.data);
  const auto start = std::chrono::steady_clock::now();
  LoadedModel model = load_for(options, given);
  const bool compiled = !is_artifact(options.model);
  if (!compiled) refuse_compile_options(options, !model.artifact->manifest().symbols.empty());
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  runtime::SessionOptions how{.threads = options.threads, .cuda = options.verb.cuda};
  if (options.verb.emulate) how.emulator = emulation;
  runtime::Session session(model.artifact, how);
  const double loaded_ms = milliseconds_since(start);
  const std::vector<std::string> labels = read_labels(options, session);
  std::vector<std::string> names = model.specialised;
  for (const runtime::TensorSpec& spec : session.inputs()) names.push_back(spec.name);
  name_inputs(names, given);
  for (std::string& name : check_fixed(model.artifact->manifest(), given))
    model.specialised.push_back(std::move(name));
  const std::vector<std::int64_t> sizes = session.symbols().empty()
                                              ? std::vector<std::int64_t>()
                                              : run_sizes(session, given, options.verb.shapes);
  std::vector<NamedBuffer> buffers = input_buffers(session, sizes, model, given), results;
  fill_buffers(options.data, buffers, given);
  std::vector<std::string> outputs;
  for (const runtime::TensorSpec& spec : session.outputs()) outputs.push_back(spec.name);
  check_outputs(options.data, outputs);
  for (const runtime::TensorSpec& spec : session.outputs())
    results.push_back({spec.name, false, true, runtime::Tensor(spec.dtype, shape_at(spec, sizes))});
  const auto begin = std::chrono::steady_clock::now();
  execute(options, session, buffers, results);
  const double ran_ms = milliseconds_since(begin);
  for (const NamedBuffer& buffer : results)
    if (options.print_top > 0) print_top(buffer, options.print_top, labels);
  tell_outputs(options.model +
                   (compiled ? " (" + arm_text(options.verb) + "): compiled in " : ": loaded in ") +
                   milliseconds(loaded_ms) + ", " + std::to_string(session.steps().size()) +
                   " steps run once in " + milliseconds(ran_ms) +
                   place_text(session, options.verb.emulate),
               results);
  print_launches(session.launch_counts());
  return finish_outputs(options.data, results);
}

}  // namespace

void add_run(const Verb& app) {
  const Verb verb = app.verb("run", "execute an artifact or an ONNX file");
  auto options = std::make_shared<RunOptions>();
  verb.option("model", options->model, "an artifact or an ONNX file").required();
  add_model_options(verb, options->verb);
  add_data_options(verb, options->data);
  add_device_options(verb, options->verb.cuda);
  verb.flag("--emulate", options->verb.emulate,
            "of a GPU: emulate its threads on this CPU, and check every access");
  add_order_option(verb, options->order);
  verb.option("--threads", options->threads, "worker threads; 0: as many as processors")
      .within(0, 1024)
      .shows_default();
  verb.option(
      "--require-signature", options->verb.require_signature,
      "refuse an artifact that no key of this file has signed (polyte keygen, polyte sign)");
  verb.option("--print-top", options->print_top,
              "print the N largest elements of each row of every output")
      .within(1, 1'000'000);
  verb.option("--labels", options->labels,
              "a file with the name of each element of a row, a line each, for --print-top");
  add_profile_options(verb, options->profile);
  verb.example("polyte run digits.polyte -i image=@x.npy --print-top 3");
  verb.calls([options] {
    options->verb.schedule_threads = options->threads;
    return run_run(*options);
  });
}

}  // namespace polyte::cli
