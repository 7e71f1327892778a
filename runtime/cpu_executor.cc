#include <cstring>
#include <optional>

#include "runtime/arguments.h"
#include "runtime/executor.h"
#include "runtime/idle_pool.h"
#include "runtime/step_list.h"
#include "runtime/thread_pool.h"
#include "support/machine.h"

namespace polyte::runtime {
namespace {

// What one run needs for itself.
struct Context {
  AlignedBuffer arena;
  AlignedBuffer scratch;
  std::vector<const void*> pointers;  // the buffers of all steps, one after the other
  // Of this run; kernels are given its address, so it stays as long as it is.
  std::vector<std::int64_t> sizes;
  std::int64_t scale = 0;  // which the pointers into the arena are for; 0: none yet
};

// For steps that are not worth a second thread: who is given this runs all by himself.
constexpr polyte_host kOneWorker{sizeof(polyte_host), 1, nullptr, nullptr, nullptr, nullptr};

int choose_threads(int wanted) {
  if (wanted < 0 || wanted > 1024) {
    throw UserError(ExitStatus::Usage,
                    "number of threads is " + std::to_string(wanted) + ", expected 0 to 1024");
  }
  return wanted == 0 ? ThreadPool::processors() : wanted;
}

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(std::shared_ptr<const Artifact> artifact, int threads)
      : artifact_(checked(std::move(artifact))),
        pool_(choose_threads(threads)),
        list_(*artifact_, pool_.workers()),
        arguments_(artifact_->manifest()) {
    // One context before the first run, so that a lack of memory shows when the session is
    // opened, and a single-threaded session never allocates in a run.
    contexts_.take([this] { return make_context(); });
  }

  int threads() const override { return pool_.workers(); }

  void run(Views inputs, Views outputs) override { run(inputs, outputs, nullptr); }

  RunProfile profile(Views inputs, Views outputs) override {
    Recorder recorder(pool_, list_.steps.size());
    run(inputs, outputs, &recorder);
    return recorder.finish();
  }

 private:
  std::shared_ptr<const Artifact> artifact_;
  ThreadPool pool_;
  StepList list_;
  ArgumentChecker arguments_;
  IdlePool<Context> contexts_;

  static std::shared_ptr<const Artifact> checked(std::shared_ptr<const Artifact> artifact) {
    check_cpu(artifact->manifest(), detect_machine().features, artifact->source());
    return artifact;
  }

  // With an arena for the smallest sizes.
  std::unique_ptr<Context> make_context() const {
    auto context = std::make_unique<Context>();
    context->scratch = AlignedBuffer(list_.scratch_bytes);
    context->scratch.populate();
    context->pointers.assign(list_.pointers, nullptr);
    for (const ConstantSlot& constant : list_.constants)
      context->pointers[constant.slot] =
          artifact_->constants()[constant.member].data() + constant.offset;
    for (const SymbolSpec& symbol : artifact_->manifest().symbols)
      context->sizes.push_back(symbol.least);
    for (const std::size_t slot : list_.sizes) context->pointers[slot] = context->sizes.data();
    fit_arena(*context);
    return context;
  }

  // The arena only grows, so sizes that come in turn cost no memory of their own. Offsets are
  // those of scale 1, so the pointers are computed again whenever the scale changes. The scale
  // is noted last: after an exception the next run tries again.
  void fit_arena(Context& context) const {
    const std::int64_t scale = scale_of(context.sizes);
    if (scale == context.scale) return;
    context.scale = 0;
    const std::int64_t bytes = arena_bytes(artifact_->manifest(), context.sizes);
    if (context.arena.data() == nullptr || context.arena.bytes() < bytes)
      grow_arena(context, bytes);
    for (const auto& [slot, offset] : list_.arena)
      context.pointers[slot] = context.arena.data() + offset * scale;
    context.scale = scale;
  }

  void grow_arena(Context& context, std::int64_t bytes) const {
    context.arena = AlignedBuffer();  // before the next, so that both are never held
    try {
      context.arena = AlignedBuffer(bytes);
    } catch (const UserError& error) {
      const std::string sizes = sizes_text(artifact_->manifest().symbols, context.sizes);
      throw UserError(error.status(), error.problems().front() + ", the arena" +
                                          (sizes.empty() ? "" : " where " + sizes));
    }
    context.arena.populate();
  }

  static int execute(const Step& step, Context& context, const polyte_host& workers) {
    const void* const* buffers = context.pointers.data() + step.first_pointer;
    // A step that is worth several threads at large sizes may not be at small ones.
    const bool by_all = step.parallel && scale_of(context.sizes) >= step.parallel_from;
    if (step.kernel != nullptr)
      return step.kernel(buffers, context.scratch.data(), by_all ? &workers : &kOneWorker);
    const auto bytes = static_cast<std::size_t>(step.copy_bytes.at(context.sizes));
    if (bytes > 0) std::memcpy(const_cast<void*>(buffers[1]), buffers[0], bytes);
    return 0;
  }

  // Number of the step that failed and the kernel's code; nothing when all went well.
  std::optional<std::pair<std::size_t, int>> execute(Context& context, Recorder* recorder) const {
    for (std::size_t i = 0; i < list_.steps.size(); ++i) {
      if (recorder != nullptr) recorder->begin_step();
      const int code =
          execute(list_.steps[i], context, recorder != nullptr ? recorder->host() : pool_.host());
      if (recorder != nullptr) recorder->end_step();
      if (code != 0) return std::pair{i, code};
    }
    return std::nullopt;
  }

  void run(Views inputs, Views outputs, Recorder* recorder) {
    // A context is this run's alone until it is given back, so runs of several threads share
    // nothing but constants and the pool.
    const auto context = contexts_.take([this] { return make_context(); });
    arguments_.check(inputs, outputs, context->sizes);
    fit_arena(*context);
    for (const ExternalSlot& external : list_.externals) {
      const TensorView& view = (external.output ? outputs : inputs)[external.index];
      context->pointers[external.slot] = static_cast<const std::byte*>(view.data) + external.offset;
    }
    if (const auto failure = execute(*context, recorder))
      refuse_run(artifact_->manifest().steps[failure->first], failure->second);
  }
};

}  // namespace

void Executor::run_on(Views, Views, void*) {
  throw UserError(ExitStatus::Usage,
                  "the artifact runs on a processor: it takes no tensors in a GPU's memory");
}
void Executor::wait() {}
void Executor::replay() {
  throw UserError(ExitStatus::Usage, "nothing to replay: the artifact runs on a processor");
}

std::unique_ptr<Executor> make_cpu_executor(std::shared_ptr<const Artifact> artifact, int threads) {
  return std::make_unique<CpuExecutor>(std::move(artifact), threads);
}

}  // namespace polyte::runtime
