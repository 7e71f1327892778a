// polyte run: executes an artifact, or an ONNX file compiled on the spot.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>

#include "driver/cli/model_options.h"
#include "driver/cli/profile.h"
#include "driver/cli/run_sizes.h"
#include "runtime/npy.h"
#include "runtime/session.h"

namespace polyte::cli {
namespace {

struct RunOptions {
  std::string model;
  ModelVerbOptions verb;
  DataOptions data;
  ProfileOptions profile;
  int threads = 0, print_top = 0;
};

void print_top(const NamedBuffer& buffer, int count) {
  const runtime::Tensor& tensor = buffer.tensor;
  std::vector<std::int64_t> order(static_cast<std::size_t>(tensor.elements()));
  std::iota(order.begin(), order.end(), 0);
  auto value = [&](std::int64_t i) {  // what is not a number comes last
    const double x = runtime::element_as_double(tensor.dtype(), tensor.data(), i);
    return std::isnan(x) ? -std::numeric_limits<double>::infinity() : x;
  };
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    const double x = value(a), y = value(b);
    return x != y ? x > y : a < b;
  });
  std::cout << buffer.name << "\n";
  for (int i = 0; i < count && i < static_cast<int>(order.size()); ++i) {
    const std::int64_t at = order[static_cast<std::size_t>(i)];
    std::cout << "  " << at << "  " << runtime::element_text(tensor.dtype(), tensor.data(), at) << "\n";
  }
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
  add(!given.group_arms.empty(), "--schedule");
  add(!given.shapes.empty() && !has_open_sizes, "--shape");
  add(!given.values.empty(), "--value");
  add(given.target != none.target, "--target");
  add(given.layout != none.layout, "--layout");
  add(given.opt_level != none.opt_level, "--opt-level");
  add(given.fusion != none.fusion, "--fusion");
  if (!names.empty())
    throw UserError(ExitStatus::Usage, names + ": " + options.model + " is an artifact, which is compiled already");
}

// Values of the inputs that decide shapes are those of -i.
LoadedModel load_for(const RunOptions& options, const runtime::NamedTensors& given) {
  return load_model(options.model, options.verb, [&](const std::string& name, std::size_t) {
    const auto found = std::ranges::find_if(given, [&](const auto& one) { return one.first == name; });
    return found == given.end() ? std::nullopt : std::optional(to_graph(found->second));
  });
}

// Values that an artifact was compiled for may be given again, but not others. Those that are given are named.
std::vector<std::string> check_fixed(const runtime::ArtifactManifest& manifest, const runtime::NamedTensors& given) {
  std::vector<std::string> names, problems;
  for (const runtime::FixedInput& fixed : manifest.fixed) {
    const auto found = std::ranges::find_if(given, [&](const auto& one) { return one.first == fixed.tensor.name; });
    if (found == given.end()) continue;
    const runtime::Tensor& tensor = found->second;
    names.push_back(fixed.tensor.name);
    if (tensor.dtype() != fixed.tensor.dtype || tensor.shape() != fixed.tensor.shape ||
        runtime::digest_of(tensor.raw()) != fixed.xxh3_128)
      problems.push_back("input '" + fixed.tensor.name + "' has another value than the one that the artifact was " +
                         "compiled for; compile with --value " + fixed.tensor.name + "=...");
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return names;
}

int run_run(const RunOptions& options) {
  const runtime::NamedTensors given = read_inputs(options.data);
  LoadedModel model = load_for(options, given);
  if (is_artifact(options.model)) refuse_compile_options(options, !model.artifact->manifest().symbols.empty());
  for (std::string& name : check_fixed(model.artifact->manifest(), given)) model.specialised.push_back(std::move(name));
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  runtime::Session session(model.artifact, {.threads = options.threads});
  const std::vector<std::int64_t> sizes =
      session.symbols().empty() ? std::vector<std::int64_t>() : run_sizes(session, given, options.verb.shapes);
  std::vector<NamedBuffer> buffers;
  for (const runtime::TensorSpec& spec : session.inputs()) {
    buffers.push_back({spec.name, true, false, runtime::Tensor(spec.dtype, shape_at(spec, sizes))});
  }
  const std::size_t input_count = buffers.size();
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(model.specialised, name) != model.specialised.end())
      buffers.push_back({name, true, false, tensor.clone()});
  }
  fill_buffers(options.data, buffers);
  buffers.resize(input_count);  // what was specialised is no input any more
  std::vector<runtime::TensorView> inputs, outputs;
  for (const NamedBuffer& buffer : buffers) inputs.push_back(buffer.tensor.view());
  std::vector<NamedBuffer> results;
  for (const runtime::TensorSpec& spec : session.outputs()) {
    results.push_back({spec.name, false, true, runtime::Tensor(spec.dtype, shape_at(spec, sizes))});
  }
  for (const NamedBuffer& buffer : results) outputs.push_back(buffer.tensor.view());
  if (options.profile.is_wanted()) {
    report_profile(session, session.profile(inputs, outputs), options.profile);
  } else {
    session.run(inputs, outputs);
  }
  for (const NamedBuffer& buffer : results) {
    if (options.print_top > 0) print_top(buffer, options.print_top);
  }
  return finish_outputs(options.data, results);
}

}  // namespace

void add_run(const Verb& app) {
  const Verb verb = app.verb("run", "execute an artifact or an ONNX file");
  auto options = std::make_shared<RunOptions>();
  verb.option("model", options->model, "an artifact or an ONNX file").required();
  add_model_options(verb, options->verb);
  add_data_options(verb, options->data);
  verb.option("--threads", options->threads, "worker threads; 0: as many as processors")
      .within(0, 1024)
      .shows_default();
  verb.option("--require-signature", options->verb.require_signature,
              "refuse an artifact that no key of this file has signed (polyte keygen, polyte sign)");
  verb.option("--print-top", options->print_top, "print the N largest elements of every output").within(1, 1'000'000);
  add_profile_options(verb, options->profile);
  verb.example("polyte run digits.polyte -i image=@x.npy --print-top 3");
  verb.calls([options] { return run_run(*options); });
}

}  // namespace polyte::cli
