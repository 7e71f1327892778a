#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "runtime/arguments.h"
#include "runtime/kernel_interface.h"
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
  std::vector<std::int64_t> sizes;    // of this run; kernels are given its address, so it stays as long as it is
  std::int64_t scale = 0;             // which the pointers into the arena are for; 0: none yet
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
  OpenNumber copy_bytes{};
  bool parallel = false;
  std::int64_t parallel_from = 1;
};

// For steps that are not worth a second thread: who is given this runs all by himself.
constexpr polyte_host kOneWorker{sizeof(polyte_host), 1, nullptr, nullptr, nullptr, nullptr};

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
  std::vector<std::size_t> sizes_slots;
  std::vector<ExternalSlot> external_slots;
  ArgumentChecker arguments;
  std::int64_t scratch_bytes = 0;
  std::mutex mutex;
  std::vector<std::unique_ptr<Context>> idle;  // guarded by mutex
  std::size_t made = 0;                        // guarded by mutex

  State(std::shared_ptr<const Artifact> a, const SessionOptions& options)
      : artifact(std::move(a)), pool(choose_threads(options.threads)), arguments(artifact->manifest()) {
    const ArtifactManifest& manifest = artifact->manifest();
    check_cpu(manifest, detect_machine().features, artifact->source());
    if (!artifact->kernels().empty()) library.emplace(artifact->kernels(), "polyte-kernels");
    for (const StepSpec& step : manifest.steps) add_step(step);
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
      step.copy_bytes = copied_bytes(artifact->manifest(), artifact->manifest().buffers[first]);
    } else if (!library) {
      throw UserError(ExitStatus::Artifact, "artifact '" + artifact->source() + "': has no kernels.so");
    } else {
      step.kernel = library->kernel(spec.kernel);
      const void* interface = library->find(spec.kernel + POLYTE_INTERFACE_SUFFIX);
      check_step(artifact->manifest(), spec, static_cast<const std::int64_t*>(interface), artifact->source());
    }
    step.parallel = spec.parallel;
    step.parallel_from = spec.parallel_from;
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
      case BufferPlace::Sizes:
        sizes_slots.push_back(slot);
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
    return make_context();
  }

  // With an arena for the smallest sizes.
  std::unique_ptr<Context> make_context() const {
    auto context = std::make_unique<Context>();
    context->scratch = AlignedBuffer(scratch_bytes);
    context->scratch.populate();
    context->pointers = template_pointers;
    for (const SymbolSpec& symbol : artifact->manifest().symbols) context->sizes.push_back(symbol.least);
    for (const std::size_t slot : sizes_slots) context->pointers[slot] = context->sizes.data();
    fit_arena(*context);
    return context;
  }

  void release(std::unique_ptr<Context> context) {
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(context));
  }

  // The arena only grows, so sizes that come in turn cost no memory of their own.
  void fit_arena(Context& context) const {
    const std::int64_t scale = scale_of(context.sizes);
    if (scale == context.scale) return;
    context.scale = 0;
    const std::int64_t bytes = arena_bytes(scale, context.sizes);
    if (context.arena.data() == nullptr || context.arena.bytes() < bytes) grow_arena(context, bytes);
    for (const auto& [slot, offset] : arena_slots) context.pointers[slot] = context.arena.data() + offset * scale;
    context.scale = scale;
  }

  std::int64_t arena_bytes(std::int64_t scale, std::span<const std::int64_t> sizes) const {
    const ArtifactManifest& manifest = artifact->manifest();
    if (manifest.arena_bytes <= kMostArenaBytes / scale) return manifest.arena_bytes * scale;
    throw UserError(ExitStatus::ResourceLimit, "an arena of " + std::to_string(manifest.arena_bytes) + " * " +
                                                   std::to_string(scale) + " bytes, where " +
                                                   sizes_text(manifest.symbols, sizes) + ", is above the limit of " +
                                                   std::to_string(kMostArenaBytes));
  }

  void grow_arena(Context& context, std::int64_t bytes) const {
    context.arena = AlignedBuffer();  // before the next, so that both are never held
    try {
      context.arena = AlignedBuffer(bytes);
    } catch (const UserError& error) {
      const std::string sizes = sizes_text(artifact->manifest().symbols, context.sizes);
      throw UserError(error.status(),
                      error.problems().front() + ", the arena" + (sizes.empty() ? "" : " where " + sizes));
    }
    context.arena.populate();
  }

  // A context for one run; what fails gives it back too.
  struct Lease {
    State& state;
    std::unique_ptr<Context> context;
    explicit Lease(State& s) : state(s), context(s.acquire()) {}
    ~Lease() { state.release(std::move(context)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
  };

  int execute(const Step& step, Context& context, const polyte_host& workers) const {
    const void* const* buffers = context.pointers.data() + step.first_pointer;
    const bool by_all = step.parallel && scale_of(context.sizes) >= step.parallel_from;
    if (step.kernel != nullptr) return step.kernel(buffers, context.scratch.data(), by_all ? &workers : &kOneWorker);
    const auto bytes = static_cast<std::size_t>(step.copy_bytes.at(context.sizes));
    if (bytes > 0) std::memcpy(const_cast<void*>(buffers[1]), buffers[0], bytes);
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
    Lease lease(*this);
    Context& context = *lease.context;
    arguments.check(inputs, outputs, context.sizes);
    fit_arena(context);
    for (const ExternalSlot& external : external_slots) {
      const TensorView& view = (external.output ? outputs : inputs)[external.index];
      context.pointers[external.slot] = static_cast<const std::byte*>(view.data) + external.offset;
    }
    const auto failure = execute(context, recorder);
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
const std::vector<SymbolSpec>& Session::symbols() const { return artifact().manifest().symbols; }
const std::vector<StepSpec>& Session::steps() const { return artifact().manifest().steps; }
const Artifact& Session::artifact() const { return *state_->artifact; }
int Session::threads() const { return state_->pool.workers(); }

std::vector<std::vector<std::int64_t>> Session::output_shapes(std::span<const TensorView> inputs) const {
  const std::vector<std::int64_t> sizes = state_->arguments.sizes_of(inputs);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const TensorSpec& spec : outputs()) shapes.push_back(shape_at(spec, sizes));
  return shapes;
}

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
  const std::vector<std::vector<std::int64_t>> shapes = output_shapes(input_views);
  for (std::size_t i = 0; i < shapes.size(); ++i) results.emplace_back(outputs()[i].dtype, shapes[i]);
  for (const Tensor& result : results) output_views.push_back(result.view());
  run(input_views, output_views);
  return results;
}

}  // namespace polyte::runtime
