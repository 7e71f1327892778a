// Runs on a GPU: of tensors in this processor's memory, which are copied there and back, or of
// tensors on the device, in the caller's stream.
#include <mutex>

#include "runtime/arguments.h"
#include "runtime/cuda_run.h"
#include "runtime/executor.h"
#include "runtime/idle_pool.h"

namespace polyte::runtime {
namespace {

class CudaExecutor final : public Executor {
 public:
  CudaExecutor(const std::shared_ptr<const Artifact>& artifact, const CudaOptions& options)
      : steps_(artifact, options), arguments_(artifact->manifest()) {
    const CudaCurrent current(*steps_.device());
    runs_.take([this] { return steps_.make_run(); });
  }

  // Callers' streams may still use the memory of runs.
  ~CudaExecutor() override {
    try {
      const CudaCurrent current(*steps_.device());
      runs_.for_each_idle([this](const CudaRun& run) {
        if (run.is_open) cuda().event_synchronize.quietly(run.done.get());
      });
    } catch (const CudaError&) {
      return;  // the device is lost, and with it all that used it
    }
  }
  CudaExecutor(const CudaExecutor&) = delete;
  CudaExecutor& operator=(const CudaExecutor&) = delete;

  int threads() const override { return 1; }
  polyte_dl_device device() const override { return {POLYTE_DL_CUDA, steps_.device()->number()}; }

  // Copies in, the graph, copies out, all in the run's own stream: in order without any event.
  void run(Views inputs, Views outputs) override {
    run(inputs, outputs,
        [this](CudaRun& run) { cuda().graph_launch(steps_.graph_of(run), run.stream.get()); });
  }

  RunProfile profile(Views inputs, Views outputs) override {
    std::vector<CudaEvent> events;
    run(inputs, outputs, [&](CudaRun& run) {
      for (std::size_t i = 0; i <= steps_.count(); ++i)
        events.push_back(make_cuda_event(steps_.device(), CudaEventKind::Time));
      steps_.enqueue(run, &events);
    });
    const CudaCurrent current(*steps_.device());
    RunProfile result;
    for (std::size_t i = 0; i < steps_.count(); ++i)
      result.steps.push_back(
          {i, 0, nanoseconds(events[0], events[i]), nanoseconds(events[0], events[i + 1])});
    return result;
  }

  // Nothing is waited for. `done` marks in the caller's stream when the run's memory is free
  // again; the next use of this run, in whichever stream, waits for it on the device.
  void run_on(Views inputs, Views outputs, void* stream) override {
    refuse_if_broken();
    const CudaCurrent current(*steps_.device());
    const auto run = runs_.take([this] { return steps_.make_run(); });
    arguments_.check(inputs, outputs, run->sizes);
    auto* const callers = static_cast<CudaStreamHandle>(stream);
    guarded([&] {
      steps_.fit(*run);
      steps_.use_tensors(*run, inputs, outputs);
      // Captured before the wait: capturing only notes addresses, and touches no memory of the
      // run.
      const CudaGraphExecHandle graph = steps_.graph_of(*run);
      if (run->is_open) cuda().stream_wait_event(callers, run->done.get(), 0);
      cuda().graph_launch(graph, callers);
      cuda().event_record(run->done.get(), callers);
      run->is_open = true;
    });
  }

  void replay() override {
    refuse_if_broken();
    const CudaCurrent current(*steps_.device());
    const auto run = runs_.take([this] { return steps_.make_run(); });
    if (run->last == nullptr)
      throw UserError(ExitStatus::Usage, "nothing to replay: nothing has run yet");
    settle(*run);
    guarded([&] {
      cuda().graph_launch(run->last, run->stream.get());
      cuda().stream_synchronize(run->stream.get());
      steps_.check_statuses(*run);
    });
  }

  void wait() override {
    refuse_if_broken();
    const CudaCurrent current(*steps_.device());
    runs_.for_each_idle([this](CudaRun& run) { settle(run); });
    const std::lock_guard<std::mutex> lock(mutex_);
    if (late_) std::rethrow_exception(std::exchange(late_, nullptr));
  }

 private:
  CudaSteps steps_;
  ArgumentChecker arguments_;
  IdlePool<CudaRun> runs_;
  std::mutex mutex_;
  std::string broken_;  // guarded by mutex_: why nothing runs any more
  // Guarded by mutex_: what a run in a caller's stream found, until somebody waits.
  std::exception_ptr late_;

  const CudaDriver& cuda() const { return steps_.cuda(); }

  template <class Start>
  void run(Views inputs, Views outputs, Start start) {
    refuse_if_broken();
    const CudaCurrent current(*steps_.device());
    const auto run = runs_.take([this] { return steps_.make_run(); });
    arguments_.check(inputs, outputs, run->sizes);
    settle(*run);
    steps_.fit(*run);
    steps_.use_own_tensors(*run);
    guarded([&] {
      const CudaStreamHandle stream = run->stream.get();
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (const std::size_t bytes = steps_.input_bytes(*run, i); bytes > 0)
          cuda().copy_to_device(as_address(run->input_places[i]), inputs[i].data, bytes, stream);
      start(*run);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (const std::size_t bytes = steps_.output_bytes(*run, i); bytes > 0)
          cuda().copy_to_host(outputs[i].data, as_address(run->output_places[i]), bytes, stream);
      cuda().stream_synchronize(stream);
      steps_.check_statuses(*run);
    });
  }

  // A run in a caller's stream comes to its end; what it found is kept for who waits. An error
  // of the device is everybody's, and nothing is to follow it.
  void settle(CudaRun& run) {
    if (!run.is_open) return;
    try {
      guarded([&] {
        cuda().event_synchronize(run.done.get());
        run.is_open = false;
        steps_.check_statuses(run);
      });
    } catch (const CudaError&) {
      throw;
    } catch (const UserError&) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!late_) late_ = std::current_exception();
    }
  }

  // After an error the device's memory holds anything, and most drivers refuse all that follows.
  // Only memory that could not be had changes nothing.
  template <class F>
  void guarded(F&& f) {
    try {
      f();
    } catch (const CudaError& error) {
      if (error.result() == kCudaOutOfMemory) throw;
      const std::string text =
          "a run on " + steps_.device()->name() + " failed: " + error.problems().front();
      const std::lock_guard<std::mutex> lock(mutex_);
      if (broken_.empty()) broken_ = text;
      throw CudaError(error.result(), text);
    }
  }

  void refuse_if_broken() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty())
      throw UserError(ExitStatus::Device,
                      "this session cannot be used any more, open it again: " + broken_);
  }

  std::int64_t nanoseconds(const CudaEvent& from, const CudaEvent& to) const {
    if (from.get() == to.get()) return 0;
    float milliseconds = 0;
    cuda().event_elapsed_time(&milliseconds, from.get(), to.get());
    return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  }
};

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(std::shared_ptr<const Artifact> artifact,
                                             const CudaOptions& options) {
  return std::make_unique<CudaExecutor>(artifact, options);
}

}  // namespace polyte::runtime
