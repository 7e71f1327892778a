// polyte.DeviceArray: an array in a GPU's memory, which other libraries take by DLPack
// or __cuda_array_interface__.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <vector>

#include "python/core/array.h"
#include "runtime/cuda_device.h"
#include "runtime/dlpack_abi.h"

namespace polyte::python {

class DeviceArray {
 public:
  // Not initialised. UserError where the GPU has no such memory.
  DeviceArray(runtime::CudaDevicePtr device, DType dtype, std::vector<std::int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t bytes() const { return bytes_; }
  const runtime::CudaDevicePtr& device() const { return device_; }
  runtime::CudaAddress address() const { return memory_->memory.get(); }
  // What is in this stream now uses the array, and `writes` it: its memory stays until that
  // is done.
  void mark_used(Stream stream, bool writes);

  nanobind::dict cuda_array_interface() const;
  nanobind::object dlpack(nanobind::handle stream) const;
  nanobind::tuple dlpack_device() const {
    return nanobind::make_tuple(static_cast<int>(POLYTE_DL_CUDA), device_->number());
  }
  nanobind::object to_numpy() const;

 private:
  struct Memory {
    runtime::CudaDevicePtr device;
    runtime::CudaMemory memory;
    // The last one in each stream, by its number.
    std::map<std::uintptr_t, runtime::CudaEvent> uses = {};
    Memory(runtime::CudaDevicePtr owner, std::int64_t bytes);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
  };
  struct Given;  // to DLPack

  runtime::CudaDevicePtr device_;
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::int64_t bytes_;
  std::shared_ptr<Memory> memory_;  // what DLPack gave away may live longer than the array
  std::optional<Stream> maker_;     // may still write it
};

// What is put into `later` from now on begins when all that is in `earlier` has ended. The
// device is current.
void put_after(const runtime::CudaDevicePtr& device, Stream earlier, Stream later);
inline runtime::CudaStreamHandle handle_of(Stream stream) {
  // NOLINTNEXTLINE: the driver's own number
  return reinterpret_cast<runtime::CudaStreamHandle>(stream.handle);
}

void bind_device_arrays(nanobind::module_& module);

}  // namespace polyte::python
