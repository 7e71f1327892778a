#include "python/core/gpu_kernel.h"

#include <algorithm>

#include "python/core/device_array.h"
#include "runtime/tensor.h"

namespace polyte::python {
namespace {

using ir::Role;
using runtime::TensorView;

TensorView view_of(const api::TensorInfo& tensor, void* data) {
  return {tensor.dtype, tensor.shape, data};
}

// A session's inputs and outputs, in its order; `before(i)`: where tensor i's old contents are. A
// session does not write its inputs, so what is updated in place is both: its old contents, copied,
// are the input, and the caller's array is the output.
struct Views {
  std::vector<TensorView> inputs, outputs;

  template <class F>
  Views(const std::vector<api::TensorInfo>& tensors, GpuKernel::Arrays arrays, F before) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Role role = tensors[i].role;
      if (role == Role::In) inputs.push_back(view_of(tensors[i], arrays[i]->data()));
      if (role == Role::InOut) inputs.push_back(view_of(tensors[i], before(i)));
      if (role == Role::Out || role == Role::InOut)
        outputs.push_back(view_of(tensors[i], arrays[i]->data()));
    }
  }
};

std::size_t bytes_of(const api::TensorInfo& tensor) {
  return static_cast<std::size_t>(runtime::count_bytes(tensor.dtype, tensor.shape));
}

std::shared_ptr<const runtime::Session> opened(const api::Kernel& kernel,
                                               const std::vector<api::Argument>& constants) {
  auto session = kernel.open_session(constants);
  if (!session) throw UserError(session.error().status, session.error().messages);
  return *session;
}

}  // namespace

GpuKernel::GpuKernel(const api::Kernel& kernel, const std::vector<api::Argument>& constants,
                     const runtime::CudaOptions& cuda)
    : tensors_(kernel.tensors()),
      session_(opened(kernel, constants)),
      device_(runtime::CudaDevice::open(cuda)) {}

bool GpuKernel::is_in_place() const {
  return std::ranges::any_of(
      tensors_, [](const api::TensorInfo& tensor) { return tensor.role == Role::InOut; });
}

void GpuKernel::run(Arrays arrays) const {
  std::vector<runtime::Tensor> copies;
  copies.reserve(tensors_.size());  // views of its tensors stay
  const Views views(tensors_, arrays, [&](std::size_t i) {
    copies.push_back(
        runtime::Tensor::borrow(tensors_[i].dtype, tensors_[i].shape, arrays[i]->data()).clone());
    return copies.back().data();
  });
  session_->run(views.inputs, views.outputs);
}

// An event that is recorded at once, in the default stream, so that the first call has
// something to wait for too.
std::unique_ptr<GpuKernel::Before> GpuKernel::make_before() const {
  auto made = std::make_unique<Before>();
  made->memory.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].role == Role::InOut)
      made->memory[i] =
          runtime::make_cuda_memory(device_, static_cast<std::int64_t>(bytes_of(tensors_[i])),
                                    "what '" + tensors_[i].name + "' holds before a run");
  made->used = runtime::make_cuda_event(device_, runtime::CudaEventKind::Order);
  device_->driver().event_record(made->used.get(), nullptr);
  return made;
}

void GpuKernel::run_on(Arrays arrays, std::optional<Stream> asked) {
  const runtime::CudaCurrent current(*device_);
  const Stream stream = asked.value_or(Stream{});
  // An array that its maker is still writing, in another stream, is waited for on the device.
  for (const std::shared_ptr<Array>& array : arrays)
    if (array && array->maker()) put_after(device_, *array->maker(), stream);
  if (!is_in_place()) {
    const Views views(tensors_, arrays, [](std::size_t) -> void* { return nullptr; });
    session_->run_on(views.inputs, views.outputs, handle_of(stream));
  } else {
    // Memory of an earlier call: this stream waits until that call's run has read it.
    const auto before = befores_.take([this] { return make_before(); });
    device_->driver().stream_wait_event(handle_of(stream), before->used.get(), 0);
    const Views views(tensors_, arrays, [&](std::size_t i) {
      const runtime::CudaAddress kept = before->memory[i].get();
      if (const std::size_t bytes = bytes_of(tensors_[i]); bytes > 0)
        device_->driver().copy_on_device(kept, runtime::as_address(arrays[i]->data()), bytes,
                                         handle_of(stream));
      return reinterpret_cast<void*>(kept);  // NOLINT: the device's
    });
    session_->run_on(views.inputs, views.outputs, handle_of(stream));
    // The copies are free again behind this run.
    device_->driver().event_record(before->used.get(), handle_of(stream));
  }
  if (!asked) session_->wait();
}

}  // namespace polyte::python
