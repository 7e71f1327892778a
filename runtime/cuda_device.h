// CudaDevice: one GPU, and what is taken from it: memory, streams, modules, graphs, each given back
// by its owner's destructor. Owners keep the device alive.
//
//   const auto device = CudaDevice::open();  // the first GPU; UserError(Device) if there is none
//   const CudaCurrent current(*device);      // this thread's calls are for it
//   CudaMemory memory(device, bytes);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/cuda_driver.h"
#include "runtime/cuda_options.h"

namespace polyte::runtime {

class CudaDevice {
 public:
  static std::shared_ptr<const CudaDevice> open(const CudaOptions& options = {});
  explicit CudaDevice(const CudaOptions& options);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const CudaDriver& driver() const { return driver_; }
  CudaContext context() const { return context_; }
  int number() const { return number_; }
  const std::string& name() const { return name_; }  // "NVIDIA H100 80GB HBM3"
  std::int64_t memory_bytes() const;
  int attribute(CudaAttribute which) const;
  int compute_capability() const { return compute_capability_; }  // 90

 private:
  CudaDriver driver_;
  int number_ = 0;
  int device_ = 0;  // the driver's handle
  int compute_capability_ = 0;
  std::string name_;
  CudaContext context_ = nullptr;
};

using CudaDevicePtr = std::shared_ptr<const CudaDevice>;

// Calls of this thread are for the device, until the end of the scope.
class CudaCurrent {
 public:
  explicit CudaCurrent(const CudaDevice& device) : driver_(device.driver()) {
    driver_.context_push(device.context());
  }
  ~CudaCurrent() {
    CudaContext popped = nullptr;
    driver_.context_pop.quietly(&popped);
  }
  CudaCurrent(const CudaCurrent&) = delete;
  CudaCurrent& operator=(const CudaCurrent&) = delete;

 private:
  const CudaDriver& driver_;
};

// One thing of the driver's, with the call that gives it back. Its device is current where it is
// made; where it ends it is made so.
template <class Handle, auto kRelease>
class CudaOwned {
 public:
  CudaOwned() = default;
  CudaOwned(CudaDevicePtr device, Handle handle) : device_(std::move(device)), handle_(handle) {}
  ~CudaOwned() { reset(); }
  CudaOwned(CudaOwned&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, Handle{})) {}
  CudaOwned& operator=(CudaOwned&& other) noexcept {
    if (this == &other) return *this;
    reset();
    device_ = std::move(other.device_);
    handle_ = std::exchange(other.handle_, Handle{});
    return *this;
  }

  Handle get() const { return handle_; }
  void reset() {
    if (handle_ == Handle{}) return;
    CudaContext popped = nullptr;
    const CudaDriver& driver = device_->driver();
    driver.context_push.quietly(device_->context());
    (driver.*kRelease).quietly(std::exchange(handle_, Handle{}));
    driver.context_pop.quietly(&popped);
  }

 private:
  CudaDevicePtr device_;
  Handle handle_{};
};

using CudaStream = CudaOwned<CudaStreamHandle, &CudaDriver::stream_destroy>;
using CudaEvent = CudaOwned<CudaEventHandle, &CudaDriver::event_destroy>;
using CudaGraph = CudaOwned<CudaGraphHandle, &CudaDriver::graph_destroy>;
using CudaGraphExec = CudaOwned<CudaGraphExecHandle, &CudaDriver::graph_exec_destroy>;
using CudaModule = CudaOwned<CudaModuleHandle, &CudaDriver::module_unload>;
using CudaMemory = CudaOwned<CudaAddress, &CudaDriver::mem_free>;  // at least 256-byte aligned
using CudaHostMemory = CudaOwned<void*, &CudaDriver::mem_free_host>;

CudaStream make_cuda_stream(const CudaDevicePtr& device);
// The clock that an event reads is time on the device too.
enum class CudaEventKind { Order, Time };
CudaEvent make_cuda_event(const CudaDevicePtr& device, CudaEventKind kind);
CudaModule load_cuda_module(const CudaDevicePtr& device, const void* image);
CudaHostMemory make_cuda_host_memory(const CudaDevicePtr& device, std::int64_t bytes);
// 0 bytes: none. CudaError(ResourceLimit) that says what for.
CudaMemory make_cuda_memory(const CudaDevicePtr& device, std::int64_t bytes,
                            const std::string& what);

}  // namespace polyte::runtime
