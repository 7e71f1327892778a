#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "runtime/shared_library.h"
#include "support/checked.h"
#include "support/machine.h"

namespace polyte::runtime {
namespace {

// What one run needs for itself.
struct Context {
  AlignedBuffer arena;
  AlignedBuffer scratch;
  std::vector<const void*> pointers;  // the buffers of all steps, one after the other
};

// A place in Context::pointers that holds an address in the caller's buffer.
struct ExternalSlot {
  std::size_t slot;
  bool output;
  std::size_t index;
  std::int64_t offset;
};

struct Step {
  polyte_kernel kernel = nullptr;  // null: a copy
  std::size_t first_pointer = 0;
  std::size_t copy_bytes = 0;
  bool parallel = false;
};

// For steps that are not worth a second thread: who is given this runs all by himself.
constexpr polyte_host kOneWorker{sizeof(polyte_host), 1, nullptr, nullptr};

std::string describe(DType dtype, std::span<const std::int64_t> shape) {
  return std::string(to_string(dtype)) + to_string(shape);
}

bool matches(const TensorView& view, const TensorSpec& spec) {
  if (view.dtype != spec.dtype || !std::ranges::equal(view.shape, spec.shape)) return false;
  const auto size = static_cast<std::uintptr_t>(size_in_bytes(spec.dtype));
  const bool empty = std::ranges::find(spec.shape, 0) != spec.shape.end();
  return empty || (view.data != nullptr && reinterpret_cast<std::uintptr_t>(view.data) % size == 0);
}

std::string mismatch(const TensorView& view, const TensorSpec& spec, const char* kind) {
  const std::string name = std::string(kind) + " '" + spec.name + "'";
  const std::string got = describe(view.dtype, view.shape);
  const std::string expected = describe(spec.dtype, spec.shape);
  if (got != expected) return name + " is " + got + ", expected " + expected;
  if (view.data == nullptr) return name + " has no data";
  return name + " is not aligned to its element";
}

bool all_match(std::span<const TensorView> views, const std::vector<TensorSpec>& specs) {
  if (views.size() != specs.size()) return false;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!matches(views[i], specs[i])) return false;
  }
  return true;
}

void list_mismatches(std::span<const TensorView> views, const std::vector<TensorSpec>& specs, const char* kind,
                     std::vector<std::string>& problems) {
  if (views.size() != specs.size()) {
    problems.push_back("got " + std::to_string(views.size()) + " " + kind + "s, expected " +
                       std::to_string(specs.size()));
    return;
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!matches(views[i], specs[i])) problems.push_back(mismatch(views[i], specs[i], kind));
  }
}

bool overlap(const TensorView& a, std::int64_t a_bytes, const TensorView& b, std::int64_t b_bytes) {
  const auto a_at = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_at = reinterpret_cast<std::uintptr_t>(b.data);
  return a_bytes > 0 && b_bytes > 0 && a_at < b_at + static_cast<std::uintptr_t>(b_bytes) &&
         b_at < a_at + static_cast<std::uintptr_t>(a_bytes);
}

std::vector<std::int64_t> sizes_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::int64_t> sizes;
  for (const TensorSpec& spec : specs) sizes.push_back(count_bytes(spec.dtype, spec.shape));
  return sizes;
}

int choose_threads(int wanted) {
  if (wanted < 0 || wanted > 1024) {
    throw UserError(ExitStatus::Usage, "number of threads is " + std::to_string(wanted) + ", expected 0 to 1024");
  }
  return wanted == 0 ? ThreadPool::processors() : wanted;
}

}  // namespace

struct Session::State {
  std::shared_ptr<const Artifact> artifact;
  std::optional<SharedLibrary> library;
  ThreadPool pool;
  std::vector<Step> steps;
  std::vector<const void*> template_pointers;                     // constants set, the rest null
  std::vector<std::pair<std::size_t, std::int64_t>> arena_slots;  // slot, offset
  std::vector<ExternalSlot> external_slots;
  std::vector<std::int64_t> input_bytes, output_bytes;
  std::int64_t scratch_bytes = 0;
  std::mutex mutex;
  std::vector<std::unique_ptr<Context>> idle;  // guarded by mutex
  std::size_t made = 0;                        // guarded by mutex

  State(std::shared_ptr<const Artifact> a, const SessionOptions& options)
      : artifact(std::move(a)), pool(choose_threads(options.threads)) {
    const ArtifactManifest& manifest = artifact->manifest();
    check_cpu(manifest, detect_machine().features, artifact->source());
    if (!artifact->kernels().empty()) library.emplace(artifact->kernels(), "polyte-kernels");
    for (const StepSpec& step : manifest.steps) add_step(step);
    input_bytes = sizes_of(manifest.inputs);
    output_bytes = sizes_of(manifest.outputs);
    release(acquire());
  }

  void add_step(const StepSpec& spec) {
    Step step;
    step.first_pointer = template_pointers.size();
    for (const std::int64_t number : spec.buffers) {
      add_pointer(artifact->manifest().buffers[static_cast<std::size_t>(number)]);
    }
    if (spec.kernel.empty()) {
      const auto first = static_cast<std::size_t>(spec.buffers.front());
      step.copy_bytes = static_cast<std::size_t>(artifact->manifest().buffers[first].bytes);
    } else if (!library) {
      throw UserError(ExitStatus::Artifact, "artifact '" + artifact->source() + "': has no kernels.so");
    } else {
      step.kernel = library->kernel(spec.kernel);
    }
    step.parallel = spec.parallel;
    const std::int64_t workers = spec.parallel ? pool.workers() : 1;
    const std::int64_t slices = checked_mul(workers, spec.scratch_bytes_per_worker);
    scratch_bytes = std::max(scratch_bytes, checked_add(spec.scratch_shared_bytes, slices));
    steps.push_back(step);
  }

  void add_pointer(const BufferSpec& buffer) {
    const std::size_t slot = template_pointers.size();
    const auto index = static_cast<std::size_t>(buffer.index);
    const void* pointer = nullptr;
    switch (buffer.place) {
      case BufferPlace::Arena:
        arena_slots.emplace_back(slot, buffer.offset);
        break;
      case BufferPlace::Constant:
        pointer = artifact->constants()[index].data() + buffer.offset;
        break;
      case BufferPlace::Input:
        external_slots.push_back({slot, false, index, buffer.offset});
        break;
      case BufferPlace::Output:
        external_slots.push_back({slot, true, index, buffer.offset});
        break;
    }
    template_pointers.push_back(pointer);
  }

  std::unique_ptr<Context> acquire() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<Context> context = std::move(idle.back());
        idle.pop_back();
        return context;
      }
      idle.reserve(++made);  // so that giving back never allocates
    }
    auto context = std::make_unique<Context>();
    context->arena = AlignedBuffer(artifact->manifest().arena_bytes);
    context->scratch = AlignedBuffer(scratch_bytes);
    context->arena.populate();
    context->scratch.populate();
    context->pointers = template_pointers;
    for (const auto& [slot, offset] : arena_slots) context->pointers[slot] = context->arena.data() + offset;
    return context;
  }

  void release(std::unique_ptr<Context> context) {
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(context));
  }

  void check_arguments(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
    const ArtifactManifest& manifest = artifact->manifest();
    std::vector<std::string> problems;
    if (!all_match(inputs, manifest.inputs) || !all_match(outputs, manifest.outputs)) {
      list_mismatches(inputs, manifest.inputs, "input", problems);
      list_mismatches(outputs, manifest.outputs, "output", problems);
      throw UserError(ExitStatus::InvalidInput, std::move(problems));
    }
    const auto clash = [&](std::size_t o, const std::string& other) {
      problems.push_back("output '" + manifest.outputs[o].name + "' overlaps " + other);
    };
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (overlap(outputs[o], output_bytes[o], inputs[i], input_bytes[i])) {
          clash(o, "input '" + manifest.inputs[i].name + "'");
        }
      }
      for (std::size_t p = 0; p < o; ++p) {
        if (overlap(outputs[o], output_bytes[o], outputs[p], output_bytes[p])) {
          clash(o, "output '" + manifest.outputs[p].name + "'");
        }
      }
    }
    if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, std::move(problems));
  }

  int execute(const Step& step, Context& context, const polyte_host& workers) const {
    const void* const* buffers = context.pointers.data() + step.first_pointer;
    if (step.kernel != nullptr)
      return step.kernel(buffers, context.scratch.data(), step.parallel ? &workers : &kOneWorker);
    if (step.copy_bytes > 0) std::memcpy(const_cast<void*>(buffers[1]), buffers[0], step.copy_bytes);
    return 0;
  }

  // Number of the step that failed and the kernel's code; nothing when all went well.
  std::optional<std::pair<std::size_t, int>> execute(Context& context, Recorder* recorder) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (recorder != nullptr) recorder->begin_step();
      const int code = execute(steps[i], context, recorder != nullptr ? recorder->host() : pool.host());
      if (recorder != nullptr) recorder->end_step();
      if (code != 0) return std::pair{i, code};
    }
    return std::nullopt;
  }

  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs, Recorder* recorder) {
    check_arguments(inputs, outputs);
    std::unique_ptr<Context> context = acquire();
    for (const ExternalSlot& external : external_slots) {
      const TensorView& view = (external.output ? outputs : inputs)[external.index];
      context->pointers[external.slot] = static_cast<const std::byte*>(view.data) + external.offset;
    }
    const auto failure = execute(*context, recorder);
    release(std::move(context));
    if (!failure) return;
    const StepSpec& step = artifact->manifest().steps[failure->first];
    const std::string reason = failure->second == POLYTE_OUT_OF_BOUNDS
                                   ? "read a subscript that is outside its dimension"
                                   : "refused its input with code " + std::to_string(failure->second);
    throw UserError(ExitStatus::InvalidInput, "kernel '" + step.kernel + "' of group '" + step.group + "' " + reason);
  }
};

Session::Session(std::shared_ptr<const Artifact> artifact, SessionOptions options)
    : state_(std::make_unique<State>(std::move(artifact), options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

const std::vector<TensorSpec>& Session::inputs() const { return artifact().manifest().inputs; }
const std::vector<TensorSpec>& Session::outputs() const { return artifact().manifest().outputs; }
const std::vector<StepSpec>& Session::steps() const { return artifact().manifest().steps; }
const Artifact& Session::artifact() const { return *state_->artifact; }
int Session::threads() const { return state_->pool.workers(); }

void Session::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  state_->run(inputs, outputs, nullptr);
}

RunProfile Session::profile(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  Recorder recorder(state_->pool, state_->steps.size());
  state_->run(inputs, outputs, &recorder);
  return recorder.finish();
}

void Session::run(std::initializer_list<TensorView> inputs, std::initializer_list<TensorView> outputs) const {
  run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs) const {
  std::vector<Tensor> results;
  std::vector<TensorView> input_views;
  std::vector<TensorView> output_views;
  for (const Tensor& input : inputs) input_views.push_back(input.view());
  for (const TensorSpec& spec : outputs()) results.emplace_back(spec.dtype, spec.shape);
  for (const Tensor& result : results) output_views.push_back(result.view());
  run(input_views, output_views);
  return results;
}

}  // namespace polyte::runtime
