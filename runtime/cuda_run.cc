#include "runtime/cuda_run.h"

#include <algorithm>
#include <cstring>

#include "support/checked.h"

namespace polyte::runtime {
namespace {

// What the driver's own allocations are aligned to at least; parts of one of ours keep it.
constexpr std::int64_t kDeviceAlignment = 256;
// Of one run: enough for a caller that takes turns with a few sets of tensors.
constexpr std::size_t kMostGraphs = 4;

std::int64_t aligned(std::int64_t bytes) {
  return checked_mul(ceil_div(bytes, kDeviceAlignment), kDeviceAlignment);
}

const std::byte* as_pointer(CudaAddress address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  return reinterpret_cast<const std::byte*>(address);
}

std::shared_ptr<const Artifact> checked(std::shared_ptr<const Artifact> artifact) {
  check_abi(artifact->manifest(), artifact->source());
  return artifact;
}

// polyte_host::launch: nothing may be thrown through the code that calls it.
int launch(void* self, const polyte_launch* what, const std::int64_t* grid,
           const void* const* arguments) {
  constexpr int kFailed = -1;
  auto& run = *static_cast<CudaRun*>(self);
  try {
    run.code->launch(*what, grid, arguments, run.stream.get());
    return 0;
  } catch (...) {
    run.failure = std::current_exception();
    return kFailed;
  }
}

}  // namespace

CudaSteps::CudaSteps(std::shared_ptr<const Artifact> artifact, const CudaOptions& options)
    : artifact_(checked(std::move(artifact))),
      list_(*artifact_, 1),
      input_bytes_(byte_counts(artifact_->manifest().inputs)),
      output_bytes_(byte_counts(artifact_->manifest().outputs)),
      device_(CudaDevice::open(options)) {
  const CudaCurrent current(*device_);
  code_.emplace(device_, *artifact_);
  copy_constants();
}

void CudaSteps::copy_constants() {
  const CudaStream stream = make_cuda_stream(device_);
  for (const Bytes bytes : artifact_->constants()) {
    constants_.push_back(
        make_cuda_memory(device_, static_cast<std::int64_t>(bytes.size()), "constants"));
    if (!bytes.empty())
      cuda().copy_to_device(constants_.back().get(), bytes.data(), bytes.size(), stream.get());
  }
  cuda().stream_synchronize(stream.get());
}

std::unique_ptr<CudaRun> CudaSteps::make_run() const {
  auto run = std::make_unique<CudaRun>();
  run->code = &*code_;
  run->stream = make_cuda_stream(device_);
  run->done = make_cuda_event(device_, CudaEventKind::Order);
  run->scratch = make_cuda_memory(device_, list_.scratch_bytes, "workspace");
  run->statuses = make_cuda_host_memory(device_, static_cast<std::int64_t>(status_bytes()));
  cuda().mem_host_get_device_pointer(&run->statuses_there, run->statuses.get(), 0);
  clear_statuses(*run);
  run->pointers.assign(list_.pointers, nullptr);
  for (const ConstantSlot& constant : list_.constants)
    run->pointers[constant.slot] = as_pointer(constants_[constant.member].get()) + constant.offset;
  for (const SymbolSpec& symbol : artifact_->manifest().symbols) run->sizes.push_back(symbol.least);
  for (const std::size_t slot : list_.sizes) run->pointers[slot] = run->sizes.data();
  run->input_places.resize(input_bytes_.size());
  run->output_places.resize(output_bytes_.size());
  run->graphs.resize(kMostGraphs);
  run->host.size = sizeof run->host;
  run->host.workers = 1;
  run->host.self = run.get();
  run->host.launch = launch;
  fit(*run);
  return run;
}

// Memory is replaced only when more is needed. Graphs that were captured with other addresses
// are then passed over by graph_of, and replaced in turn.
void CudaSteps::fit(CudaRun& run) const {
  const auto grow = [&](CudaMemory& memory, std::int64_t& held, std::int64_t bytes,
                        const char* what) {
    if (bytes <= held) return;
    const std::string sizes = sizes_text(artifact_->manifest().symbols, run.sizes);
    if (run.is_open) cuda().event_synchronize(run.done.get());  // it is still used
    // Before the next, so that both are never held.
    memory.reset();
    held = 0;
    memory = make_cuda_memory(device_, bytes, what + (sizes.empty() ? "" : " where " + sizes));
    held = bytes;
  };
  grow(run.arena, run.arena_bytes, arena_bytes(artifact_->manifest(), run.sizes), "the arena");
  std::int64_t tensors = 0;
  for (const auto* counts : {&input_bytes_, &output_bytes_})
    for (const OpenNumber& count : *counts)
      tensors = checked_add(tensors, aligned(count.at(run.sizes)));
  grow(run.tensors, run.tensor_bytes, tensors, "inputs and outputs");
  const std::int64_t scale = scale_of(run.sizes);
  for (const auto& [slot, offset] : list_.arena)
    run.pointers[slot] = as_pointer(run.arena.get()) + offset * scale;
  const std::byte* place = as_pointer(run.tensors.get());
  for (std::size_t i = 0; i < input_bytes_.size();
       place += aligned(input_bytes_[i++].at(run.sizes)))
    run.input_places[i] = place;
  for (std::size_t i = 0; i < output_bytes_.size();
       place += aligned(output_bytes_[i++].at(run.sizes)))
    run.output_places[i] = place;
}

void CudaSteps::use_own_tensors(CudaRun& run) const {
  for (const ExternalSlot& external : list_.externals) {
    const auto& places = external.output ? run.output_places : run.input_places;
    run.pointers[external.slot] =
        static_cast<const std::byte*>(places[external.index]) + external.offset;
  }
}

void CudaSteps::use_tensors(CudaRun& run, std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) const {
  for (const ExternalSlot& external : list_.externals) {
    const TensorView& view = (external.output ? outputs : inputs)[external.index];
    run.pointers[external.slot] = static_cast<const std::byte*>(view.data) + external.offset;
  }
}

std::size_t CudaSteps::input_bytes(const CudaRun& run, std::size_t i) const {
  return static_cast<std::size_t>(input_bytes_[i].at(run.sizes));
}
std::size_t CudaSteps::output_bytes(const CudaRun& run, std::size_t i) const {
  return static_cast<std::size_t>(output_bytes_[i].at(run.sizes));
}

// --- status words

std::size_t CudaSteps::status_bytes() const { return 4 * std::max<std::size_t>(1, count()); }

void CudaSteps::clear_statuses(CudaRun& run) const {
  std::memset(run.statuses.get(), 0, status_bytes());
}

void CudaSteps::check_statuses(CudaRun& run) const {
  const auto* const words = static_cast<const std::int32_t*>(run.statuses.get());
  const auto* const first =
      std::find_if(words, words + count(), [](std::int32_t word) { return word != 0; });
  if (first == words + count()) return;
  const int code = *first;
  clear_statuses(run);
  refuse_run(artifact_->manifest().steps[static_cast<std::size_t>(first - words)], code);
}

// --- what goes to the stream

void CudaSteps::execute(std::size_t number, CudaRun& run) const {
  const Step& step = list_.steps[number];
  const void* const* buffers = run.pointers.data() + step.first_pointer;
  if (step.kernel == nullptr) {
    if (const auto bytes = static_cast<std::size_t>(step.copy_bytes.at(run.sizes)); bytes > 0)
      cuda().copy_on_device(as_address(buffers[1]), as_address(buffers[0]), bytes,
                            run.stream.get());
    return;
  }
  // The device's address of this step's word: a fault that a kernel finds names its step.
  run.host.device_status =
      reinterpret_cast<std::int32_t*>(run.statuses_there + 4 * number);  // NOLINT: the device's
  const int code =
      step.kernel(buffers, reinterpret_cast<void*>(run.scratch.get()), &run.host);  // NOLINT
  // An exception of launch() could not pass through the kernel's code; it is more exact than
  // the code that the kernel returned because of it.
  if (run.failure) std::rethrow_exception(std::exchange(run.failure, nullptr));
  if (code != 0) refuse_run(artifact_->manifest().steps[number], code);
}

// Events around the steps are recorded only where a profile asks for them; the steps themselves
// go to the stream without waiting, so what is measured is the device's time.
void CudaSteps::enqueue(CudaRun& run, const std::vector<CudaEvent>* events) const {
  const CudaStreamHandle stream = run.stream.get();
  if (events != nullptr) cuda().event_record(events->front().get(), stream);
  for (std::size_t i = 0; i < count(); ++i) {
    execute(i, run);
    if (events != nullptr) cuda().event_record((*events)[i + 1].get(), stream);
  }
}

// What the steps' code starts while the stream captures becomes a node of the graph instead of
// running. Thread-local, so that other threads may call the driver meanwhile.
CudaGraphExec CudaSteps::capture(CudaRun& run) const {
  cuda().stream_begin_capture(run.stream.get(), kCudaCaptureThreadLocal);
  CudaGraphHandle handle = nullptr;
  try {
    enqueue(run, nullptr);
  } catch (...) {
    // A capture has to be ended even when it failed, or the stream stays unusable; the driver's
    // own complaint about it would hide the first error.
    cuda().stream_end_capture.quietly(run.stream.get(), &handle);
    if (handle != nullptr) cuda().graph_destroy.quietly(handle);
    throw;
  }
  cuda().stream_end_capture(run.stream.get(), &handle);
  const CudaGraph graph(device_, handle);
  CudaGraphExecHandle ready = nullptr;
  cuda().graph_instantiate(&ready, graph.get(), 0);
  return {device_, ready};
}

// Kernels' arguments are part of a graph, so it fits the same addresses and sizes only. Where
// none fits the oldest is replaced (round robin); it is destroyed before the capture, so that
// at most kMostGraphs exist.
CudaGraphExecHandle CudaSteps::graph_of(CudaRun& run) const {
  for (const CapturedGraph& known : run.graphs)
    if (known.graph.get() != nullptr && known.pointers == run.pointers && known.sizes == run.sizes)
      return run.last = known.graph.get();
  CapturedGraph& oldest = run.graphs[run.next_graph];
  run.next_graph = (run.next_graph + 1) % kMostGraphs;
  run.last = nullptr;
  oldest = {};
  oldest = {capture(run), run.pointers, run.sizes};
  return run.last = oldest.graph.get();
}

}  // namespace polyte::runtime
