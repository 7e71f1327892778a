#include "python/core/device_array.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/core/dlpack.h"
#include "python/core/error.h"
#include "runtime/tensor.h"

namespace nb = nanobind;

namespace polyte::python {
namespace {

using runtime::CudaCurrent;

// From an array of this processor, copied in the default stream and waited for: the source may
// be freed when this returns.
std::unique_ptr<DeviceArray> to_device(nb::handle object, int device, const std::string& driver) {
  const auto array = [&] {
    try {
      return std::make_unique<Array>(object, "array");
    } catch (const ProblemError& e) {
      raise(ExitStatus::InvalidInput, {e.what()});
    }
  }();
  return guarded_value([&] {
    const auto gpu = runtime::CudaDevice::open({driver, device});
    const CudaCurrent current(*gpu);
    auto made = std::make_unique<DeviceArray>(
        gpu, array->dtype(),
        std::vector<std::int64_t>(array->shape().begin(), array->shape().end()));
    if (made->bytes() > 0) {
      const auto bytes = static_cast<std::size_t>(made->bytes());
      gpu->driver().copy_to_device(made->address(), array->data(), bytes, nullptr);
      gpu->driver().stream_synchronize(nullptr);
    }
    return made;
  });
}

}  // namespace

DeviceArray::DeviceArray(runtime::CudaDevicePtr device, DType dtype,
                         std::vector<std::int64_t> shape)
    : device_(std::move(device)),
      dtype_(dtype),
      shape_(std::move(shape)),
      bytes_(runtime::count_bytes(dtype_, shape_)) {
  const CudaCurrent current(*device_);
  memory_ = std::make_shared<Memory>(device_, bytes_);
}

DeviceArray::Memory::Memory(runtime::CudaDevicePtr owner, std::int64_t bytes)
    : device(std::move(owner)), memory(runtime::make_cuda_memory(device, bytes, "an array")) {}

// Freed only when all that was put into streams with it has ended; a stream does not keep it alive.
DeviceArray::Memory::~Memory() {
  for (const auto& [stream, event] : uses) device->driver().event_synchronize.quietly(event.get());
}

// One event per stream is enough: a later one in the same stream covers the uses before it.
void DeviceArray::mark_used(Stream stream, bool writes) {
  const CudaCurrent current(*device_);
  runtime::CudaEvent& event = memory_->uses[stream.number()];
  if (event.get() == runtime::CudaEventHandle{})
    event = make_cuda_event(device_, runtime::CudaEventKind::Order);
  device_->driver().event_record(event.get(), handle_of(stream));
  if (writes) maker_ = stream;
}

// What a capsule keeps until whoever took it is done; freed without Python.
struct DeviceArray::Given {
  ManagedTensor managed;
  std::vector<std::int64_t> shape;
  std::shared_ptr<Memory> memory;
};

// A stream of number 1 is the default one; a taker waits for it. None where nothing was ever
// put into a stream.
nb::dict DeviceArray::cuda_array_interface() const {
  nb::dict said;
  said["version"] = 3;
  said["typestr"] = typestr_of(dtype_);
  said["shape"] = nb::tuple(nb::cast(shape_));
  said["data"] = nb::make_tuple(address(), false);
  said["strides"] = nb::none();
  said["stream"] = maker_ ? nb::object(nb::int_(maker_->number())) : nb::none();
  return said;
}

nb::object DeviceArray::dlpack(nb::handle stream) const {
  // DLPack: -1 asks for no synchronisation. Otherwise the taker's stream waits for what writes the
  // array, and Python goes on at once.
  const bool is_unordered =
      nb::isinstance<nb::int_>(stream) && nb::cast<std::int64_t>(stream) == -1;
  const std::optional<Stream> taker = is_unordered ? std::nullopt : stream_of(stream);
  if (maker_ && !is_unordered)
    guarded_value([&] {
      const CudaCurrent current(*device_);
      const Stream later = taker.value_or(Stream{});
      if (later.number() != maker_->number())
        device_->driver().stream_wait_event(handle_of(later),
                                            memory_->uses.at(maker_->number()).get(), 0);
      return api::Done{};
    });
  auto* given = new Given{{}, shape_, memory_};
  given->managed.tensor = {reinterpret_cast<void*>(address()),  // NOLINT: the device's
                           {POLYTE_DL_CUDA, device_->number()},
                           static_cast<std::int32_t>(shape_.size()),
                           dl_type_of(dtype_),
                           given->shape.data(),
                           nullptr,
                           0};
  given->managed.context = given;
  // The shape is part of what is given, as a capsule may outlive the array.
  given->managed.deleter = [](ManagedTensor* self) { delete static_cast<Given*>(self->context); };
  return make_capsule(&given->managed);
}

// In the stream that writes the array, so it needs no event; waits for the copy.
nb::object DeviceArray::to_numpy() const {
  const nb::object result = empty_array(dtype_, shape_);
  const Array there(result, "result");
  guarded_value([&] {
    if (bytes_ == 0) return api::Done{};
    const CudaCurrent current(*device_);
    const runtime::CudaStreamHandle stream = handle_of(maker_.value_or(Stream{}));
    device_->driver().copy_to_host(there.data(), address(), static_cast<std::size_t>(bytes_),
                                   stream);
    device_->driver().stream_synchronize(stream);
    return api::Done{};
  });
  return result;
}

// An event recorded behind what is in `earlier` now, for which `later` waits on the device. The
// event may be destroyed at once: the driver keeps it until it is over (cuEventDestroy).
void put_after(const runtime::CudaDevicePtr& device, Stream earlier, Stream later) {
  if (earlier.number() == later.number()) return;
  const runtime::CudaEvent event = make_cuda_event(device, runtime::CudaEventKind::Order);
  device->driver().event_record(event.get(), handle_of(earlier));
  device->driver().stream_wait_event(handle_of(later), event.get(), 0);
}

void bind_device_arrays(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<DeviceArray>(module, "DeviceArray", R"(An array in a GPU's memory, dense.

Kernels for a GPU give it where they get arrays in its memory; to_device makes one. torch, jax, cupy
and others take it without a copy, by DLPack (torch.from_dlpack(x)) or __cuda_array_interface__;
numpy() copies it here.)")
      .def_prop_ro(
          "dtype", [](const DeviceArray& a) { return name_of(a.dtype()); },
          "The element type's name, \"f32\".")
      .def_prop_ro(
          "shape", [](const DeviceArray& a) { return nb::tuple(nb::cast(a.shape())); },
          "A tuple of numbers.")
      .def_prop_ro("__cuda_array_interface__", &DeviceArray::cuda_array_interface)
      .def(
          "__dlpack__",
          [](const DeviceArray& a, nb::handle stream, const nb::kwargs&) {
            return a.dlpack(stream);
          },
          "stream"_a = nb::none(), "options"_a)
      .def("__dlpack_device__", &DeviceArray::dlpack_device)
      .def("numpy", &DeviceArray::to_numpy,
           "A copy in this processor's memory, once what writes the array is done.")
      .def("__repr__", [](const DeviceArray& a) {
        return "<polyte.DeviceArray " + name_of(a.dtype()) + runtime::to_string(a.shape()) +
               " on GPU " + std::to_string(a.device()->number()) + ">";
      });
  module.def("to_device", &to_device, "array"_a, "device"_a = 0, "driver"_a = "");
}

}  // namespace polyte::python
