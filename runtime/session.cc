#include "runtime/session.h"

#include "runtime/arguments.h"
#include "runtime/executor.h"
#include "support/target.h"

namespace polyte::runtime {
namespace {

// An emulator that was asked for wins over the artifact's own target: code for a GPU then runs
// here.
std::unique_ptr<Executor> make_executor(const std::shared_ptr<const Artifact>& artifact,
                                        const SessionOptions& options) {
  if (options.emulator) return make_emulated_executor(artifact, *options.emulator);
  if (artifact->manifest().arch == to_string(TargetKind::Cuda))
    return make_cuda_executor(artifact, options.cuda);
  return make_cpu_executor(artifact, options.threads);
}

}  // namespace

struct Session::State {
  std::shared_ptr<const Artifact> artifact;
  ArgumentChecker arguments;
  // Last, so that it ends first: it runs code that the artifact holds.
  std::unique_ptr<Executor> executor;

  State(std::shared_ptr<const Artifact> a, const SessionOptions& options)
      : artifact(std::move(a)),
        arguments(artifact->manifest()),
        executor(make_executor(artifact, options)) {}
};

Session::Session(std::shared_ptr<const Artifact> artifact, SessionOptions options)
    : state_(std::make_unique<State>(std::move(artifact), options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

const std::vector<TensorSpec>& Session::inputs() const { return artifact().manifest().inputs; }
const std::vector<TensorSpec>& Session::outputs() const { return artifact().manifest().outputs; }
const std::vector<SymbolSpec>& Session::symbols() const { return artifact().manifest().symbols; }
const std::vector<StepSpec>& Session::steps() const { return artifact().manifest().steps; }
const Artifact& Session::artifact() const { return *state_->artifact; }
int Session::threads() const { return state_->executor->threads(); }

std::vector<std::vector<std::int64_t>> Session::output_shapes(
    std::span<const TensorView> inputs) const {
  const std::vector<std::int64_t> sizes = state_->arguments.sizes_of(inputs);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const TensorSpec& spec : outputs()) shapes.push_back(shape_at(spec, sizes));
  return shapes;
}

void Session::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  state_->executor->run(inputs, outputs);
}

RunProfile Session::profile(std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) const {
  return state_->executor->profile(inputs, outputs);
}

std::vector<LaunchCounts> Session::launch_counts() const {
  return state_->executor->launch_counts();
}
polyte_dl_device Session::device() const { return state_->executor->device(); }

void Session::run_on(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                     void* stream) const {
  state_->executor->run_on(inputs, outputs, stream);
}

void Session::wait() const { state_->executor->wait(); }
void Session::replay() const { state_->executor->replay(); }

void Session::run(std::initializer_list<TensorView> inputs,
                  std::initializer_list<TensorView> outputs) const {
  run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

// Output shapes follow from the sizes that the inputs have, so results can be allocated only
// now.
std::vector<Tensor> Session::run(std::span<const Tensor> inputs) const {
  std::vector<Tensor> results;
  std::vector<TensorView> input_views;
  std::vector<TensorView> output_views;
  for (const Tensor& input : inputs) input_views.push_back(input.view());
  const std::vector<std::vector<std::int64_t>> shapes = output_shapes(input_views);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    results.emplace_back(outputs()[i].dtype, shapes[i]);
  for (const Tensor& result : results) output_views.push_back(result.view());
  run(input_views, output_views);
  return results;
}

}  // namespace polyte::runtime
